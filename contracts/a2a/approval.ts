/**
 * The task's decisions for yes and no. Null unless it has exactly two decisions, one of which is `reject`.
 */
export function approvalWords({
  decisions,
}: {
  decisions: readonly { id: string }[];
}): { yes: string; no: string } | null {
  const words = decisions.map(({ id }) => id);
  const yes = words.find((word) => word !== 'reject');
  return words.length === 2 && words.includes('reject') && yes !== undefined ? { yes, no: 'reject' } : null;
}
