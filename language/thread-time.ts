/** Processor time of this thread so far, in ms: what a busy machine does beside it does not count. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
