/** People with their pictures, which are drawn from the names and say nothing more to a screen reader. */
import { avatarOf, type Avatar as Picture } from '../../../contracts/avatar.ts';
import css from './avatar.module.css';

export function Avatar({ initials, hue }: Picture) {
  return (
    <span class={css['avatar']} style={{ '--hue': String(hue) }} aria-hidden="true">
      {initials}
    </span>
  );
}

interface Person {
  id: string;
  username: string;
  display_name: string | null;
}

/** The username, with the display name if there is one. */
export function UserLabel(person: Person) {
  const { username, display_name: name } = person;
  return <Label picture={avatarOf(person)} text={name === null ? username : `${username} (${name})`} />;
}

/** @param name the display name, or the username of somebody without one */
export function PersonLabel({ id, name }: { id: string; name: string }) {
  return <Label picture={avatarOf({ id, username: name, display_name: null })} text={name} />;
}

function Label({ picture, text }: { picture: Picture; text: string }) {
  return (
    <span class={css['person']}>
      <Avatar {...picture} /> <span>{text}</span>
    </span>
  );
}
