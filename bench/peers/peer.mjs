// What a peer's process does: says that it is ready, then does each job it is sent and answers with the milliseconds.

/**
 * Takes `{ effects, callers }` from the parent and spreads the effects over that many callers at once; each effect is told
 * which caller wants it.
 */
export function takeJobs(oneEffect) {
  const spread = async ({ effects, callers }) => {
    const start = performance.now();
    let left = effects;
    const caller = async (_, at) => {
      while (left > 0) {
        left -= 1;
        await oneEffect(at);
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    return performance.now() - start;
  };
  process.on('message', (job) => {
    spread(job).then(
      (ms) => process.send({ ms }),
      (error) => process.send({ failed: String(error) }),
    );
  });
  process.send({ ready: true });
}
