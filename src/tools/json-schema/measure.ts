/** What a JSON value costs: its values, and how deep they lie (a bare value has depth 0). */
export interface JsonMeasure {
  readonly nodes: number;
  readonly depth: number;
}

export interface MeasureBounds {
  readonly nodes: number;
  readonly depth: number;
}

/**
 * Counts a value that should be plain JSON, without recursion and giving up at the first bound that is passed. Text
 * instead of a measure says why not: `nodes`, `depth`, or `not_json` (functions, dates, cycles end as `depth`).
 */
export function measureJson(value: unknown, bounds: MeasureBounds): JsonMeasure | 'nodes' | 'depth' | 'not_json' {
  let nodes = 0;
  let depth = 0;
  const open: [unknown, number][] = [[value, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [item, level] = next;
    nodes += 1;
    if (nodes > bounds.nodes) return 'nodes';
    const children = childrenOf(item);
    if (children === null) return 'not_json';
    if (children.length === 0 && !isContainer(item)) continue;
    if (level + 1 > bounds.depth) return 'depth';
    depth = Math.max(depth, level + 1);
    if (nodes + open.length + children.length > bounds.nodes) return 'nodes';
    for (const child of children) open.push([child, level + 1]);
  }
  return { nodes, depth };
}

function isContainer(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function childrenOf(value: unknown): readonly unknown[] | null {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return [];
  if (typeof value === 'number') return Number.isFinite(value) ? [] : null;
  if (Array.isArray(value)) return value;
  if (typeof value !== 'object') return null;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? Object.values(value) : null;
}
