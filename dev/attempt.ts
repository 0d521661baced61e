/** What the action gives, undefined where it throws: for files and processes that may be gone. */
export function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
