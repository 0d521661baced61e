/** Result of an action, or undefined if it throws; for files and processes that may have vanished. */
export function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
