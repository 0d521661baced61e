import type { InvitationLink } from './invite.ts';
import { ShownOnce } from './shown-once.tsx';

/** A link that an admin hands to the person, because no mail can be sent; nothing while there is none. */
export function InvitationDialog({ link, onClose }: { link: InvitationLink | null; onClose: () => void }) {
  return (
    <ShownOnce
      values={link?.values ?? null}
      {...(link !== null && { title: link.title })}
      onClose={onClose}
    />
  );
}
