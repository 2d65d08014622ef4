import type { ToolDefinition } from '../tools/index.ts';
import type { ListedTool } from './connection.ts';

type Input = Record<string, unknown>;
type Carried = ToolDefinition<Input, Input>;

/**
 * What you say about one tool of a server: everything that a tool of your own declares, except what the server gives
 * (name, description, schemas, the call itself). `effect` has no default here: who writes a policy says what it does.
 */
export interface McpToolPolicy
  extends Pick<
    Carried,
    | 'effect'
    | 'needsApproval'
    | 'editable'
    | 'status'
    | 'authorize'
    | 'precondition'
    | 'timeoutMs'
    | 'settlesWithinMs'
    | 'receipt'
    | 'resources'
    | 'postconditions'
    | 'observe'
    | 'secretFields'
    | 'checkOutput'
    | 'outputLimits'
    | 'parallel'
    | 'groups'
    | 'urlPatterns'
  > {
  /**
   * What `isError` of a writing tool means. Default `unknown`: a tool may fail after it has changed something.
   * `not_done` is a promise you make about this tool of this server.
   */
  readonly onToolError?: 'unknown' | 'not_done';
  /** The revision of this policy, stored with every operation. Default `v1`. */
  readonly revision?: string;
}

/** Policies by the server's own tool names, or a function that may look at what the tool says about itself. */
export type McpPolicies = Readonly<Record<string, McpToolPolicy>> | ((tool: ListedTool) => McpToolPolicy | undefined);
