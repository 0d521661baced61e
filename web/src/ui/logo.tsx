/** An open ring that waits for its point. */
export function Logo({ size }: { size: number }) {
  return <img src="/console/icon.svg" width={size} height={size} alt="" />;
}
