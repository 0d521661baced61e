/** A picture of a person that is drawn from the name, the same wherever it is drawn. */
export interface Avatar {
  /** Up to two. */
  initials: string;
  /** Degrees of a colour wheel, from 0 to 359; of the id, so it stays when the name changes. */
  hue: number;
}

interface Named {
  id: string;
  username: string;
  display_name: string | null;
}

export function avatarOf({ id, username, display_name: name }: Named): Avatar {
  const words = (name?.trim() || username).split(/[\s._-]+/).filter((word) => word !== '');
  const letters = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  const initials = letters.map((word) => [...(word ?? '')][0]?.toUpperCase() ?? '').join('');
  return { initials, hue: Number.parseInt(id.slice(-6), 16) % 360 };
}
