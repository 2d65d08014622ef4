import { fail } from '../../core/index.ts';

type Graph<N> = ReadonlyMap<N, readonly N[]>;

/**
 * Refuses a schema whose subschemas lead back to themselves without consuming any of the value (the check would never
 * end), or that apply more than `most` subschemas to one value once references are followed.
 */
export function checkBranching<N>(graph: Graph<N>, most: number): void {
  const costs = new Map<N, number>();
  const open = new Set<N>();
  for (const start of graph.keys()) {
    const stack: N[] = [start];
    for (let node = stack.at(-1); node !== undefined; node = stack.at(-1)) {
      if (costs.has(node)) {
        stack.pop();
        continue;
      }
      const children = graph.get(node) ?? [];
      const waiting = children.filter((child) => !costs.has(child));
      if (waiting.length === 0) {
        settle(node, children, costs, most);
        open.delete(node);
        stack.pop();
        continue;
      }
      open.add(node);
      if (waiting.some((child) => open.has(child)))
        throw fail('TOOL_SCHEMA_INVALID', 'This JSON Schema cannot be used: a `$ref` leads back to itself.');
      stack.push(...waiting);
    }
  }
}

function settle<N>(node: N, children: readonly N[], costs: Map<N, number>, most: number): void {
  const cost = children.reduce((sum, child) => sum + (costs.get(child) ?? 0), 1);
  if (cost > most)
    throw fail('TOOL_SCHEMA_INVALID', `This JSON Schema cannot be used: it applies over ${most} schemas to one value.`);
  costs.set(node, cost);
}
