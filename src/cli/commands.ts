import type { Command } from 'commander';
import type { Output } from './output.ts';
import type { Terminal } from './terminal.ts';

/** The exit codes of the command: done, refused or unknown, bad input or storage, waiting for a decision. */
export type ExitCode = 0 | 1 | 2 | 3;

/** What a command is given besides its own arguments. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly output: Output;
  /** Runs the command's work and keeps its exit code; what it throws is printed and coded by the caller. */
  readonly run: (work: () => Promise<ExitCode>) => Promise<void>;
}

/** A command's file: adds its arguments, options and action to the command that bears its name. */
export interface CommandModule {
  readonly define: (command: Command, context: CommandContext) => void;
}

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /** Only the command that was asked for is loaded. */
  readonly load: () => Promise<CommandModule>;
}

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'init',
    summary: 'Write a configuration to begin with, and make the data folder',
    load: () => import('./init.ts'),
  },
  {
    name: 'run',
    summary: 'Let a configured agent do something; asks at the prompt, or ends with exit code 3 while something waits',
    load: () => import('./run.ts'),
  },
  {
    name: 'runs',
    summary: 'List, show, stop and resume runs',
    load: () => import('./runs.ts'),
  },
  {
    name: 'sessions',
    summary: 'List, show, checkpoint, fork, compare, take back and delete sessions',
    load: () => import('./sessions.ts'),
  },
  {
    name: 'approvals',
    summary: 'List, show and decide what waits for a person',
    load: () => import('./approvals.ts'),
  },
  {
    name: 'rules',
    summary: 'List, make and drop standing rules: what is allowed, asked about or denied from now on',
    load: () => import('./rules.ts'),
  },
  {
    name: 'operations',
    summary: 'List, show, dispatch, ask about, deliver, settle and audit what was done outside',
    load: () => import('./operations.ts'),
  },
  {
    name: 'effects',
    summary: 'List, show and verify what calls may have changed: reported apart from read back',
    load: () => import('./effects.ts'),
  },
  {
    name: 'mcp',
    summary:
      'Stand in front of an MCP server: its calls are judged, written down, and never told as more than is known',
    load: () => import('./mcp.ts'),
  },
  {
    name: 'policy',
    summary: 'Say what the guard would do with a call, and why',
    load: () => import('./policy.ts'),
  },
  {
    name: 'report',
    summary: 'Say what ran, what is verified, only reported or unknown, what was refused, and what waits',
    load: () => import('./report.ts'),
  },
  {
    name: 'audit',
    summary: 'Prove everything that is stored again; with a head, that nothing was changed or taken away since',
    load: () => import('./audit.ts'),
  },
  {
    name: 'pause',
    summary: 'Let no write start in this data folder',
    load: () => import('./pause.ts'),
  },
  {
    name: 'unpause',
    summary: 'Let writes start again',
    load: () => import('./unpause.ts'),
  },
  {
    name: 'serve',
    summary: 'Open the HTTP gateway: runs, approvals and operations for people and programs elsewhere',
    load: () => import('./serve.ts'),
  },
  {
    name: 'tokens',
    summary: 'Make, list, rotate and revoke the tokens of those who may use the gateway',
    load: () => import('./tokens.ts'),
  },
  {
    name: 'doctor',
    summary: 'Look at Node.js, the disk, the data folder and the database, and say what to do',
    load: () => import('./doctor.ts'),
  },
  {
    name: 'migrate',
    summary: 'Make the data folder where there is none, and bring the database up to date',
    load: () => import('./migrate.ts'),
  },
  {
    name: 'backup',
    summary: 'Copy the database into one new file while Holdfast works',
    load: () => import('./backup.ts'),
  },
  {
    name: 'restore',
    summary: 'Put a backup into a data folder that has no database',
    load: () => import('./restore.ts'),
  },
  {
    name: 'export',
    summary: 'Make one sealed file of a session; secrets stay here',
    load: () => import('./export.ts'),
  },
  {
    name: 'import',
    summary: 'Take a package in as a new, locked session; nothing in it is run',
    load: () => import('./import.ts'),
  },
  {
    name: 'verify',
    summary: 'Check a session package alone: nothing is imported, no store is needed',
    load: () => import('./verify.ts'),
  },
  {
    name: 'inspect',
    summary: 'Show what is inside a session package, without trusting it',
    load: () => import('./inspect.ts'),
  },
  {
    name: 'diff',
    summary: 'Compare two session packages, in meaning',
    load: () => import('./diff.ts'),
  },
  {
    name: 'keys',
    summary: 'Make keys for signing packages',
    load: () => import('./keys.ts'),
  },
  {
    name: 'sign',
    summary: 'Sign a session package, beside it',
    load: () => import('./sign.ts'),
  },
];
