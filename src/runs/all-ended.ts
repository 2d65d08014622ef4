/** Waits for all of them, whatever fails; then throws the first failure, with nothing left under way. */
export async function allEnded<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  const ends = await Promise.allSettled(work);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
}
