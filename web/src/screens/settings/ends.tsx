/** When a credential ends, and whether that is soon. */
import { nowMs } from '../../ui/clock.ts';
import { When } from '../../ui/when.tsx';
import { words } from './access-words.ts';

/** From then on its owner is told by mail (docs/notifications.md#mails-about-accounts). */
const SOON_MS = 14 * 86_400_000;

export function Ends({ at }: { at: string }) {
  const leftMs = Date.parse(at) - nowMs.value;
  return (
    <>
      <When at={at} />
      {leftMs <= SOON_MS && <b> {leftMs > 0 ? words.endsSoon : words.ended}</b>}
    </>
  );
}
