/** Why a task that was not done by its deadline faults. @param deadline in ISO 8601 */
export function timeoutText(task: string, deadline: string): string {
  return `${task} did not finish in time: its timeout ended at ${deadline}`;
}
