/** A file of the platform in a value: an image is shown, a sound played, and every file can be downloaded. */
import css from './value.module.css';

export interface FileValueProps {
  file: { file_id: string; name?: string; media_type?: string; size?: number };
}

/** Browsers show these without running anything in them. */
const SHOWN = /^image\/(?:png|jpeg|gif|webp)$/;
const PLAYED = /^audio\//;
const MAX_SHOWN_BYTES = 20 * 1024 * 1024;

export function FileValue({
  file: { file_id: id, name = id, media_type: type = '', size = 0 },
}: FileValueProps) {
  const address = `/files/${encodeURIComponent(id)}`;
  return (
    <span class={css['file']}>
      {SHOWN.test(type) && size <= MAX_SHOWN_BYTES && <img src={address} alt={name} loading="lazy" />}
      {PLAYED.test(type) && <audio src={address} controls preload="none" aria-label={name} />}
      <a href={address} download={name}>
        {name}
      </a>
    </span>
  );
}
