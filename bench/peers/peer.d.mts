/** See peer.mjs. */
export function takeJobs(oneEffect: (caller: number) => Promise<unknown>): void;
