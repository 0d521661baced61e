import type { Context } from 'koa';

import type { StaticFile } from './files.ts';

/** Answers with the file, compressed if the client takes it; 304 if the client has it. */
export function sendFile(ctx: Context, file: StaticFile): void {
  ctx.set('Cache-Control', file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
  ctx.vary('Accept-Encoding');
  const coding = file.compressed === null ? false : ctx.acceptsEncodings(['br', 'identity']);
  // The compression middleware gives each content coding its own tag, and hides that from here.
  ctx.set('ETag', file.etag);
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  ctx.type = file.type;
  if (coding === 'br') {
    ctx.set('Content-Encoding', 'br');
    ctx.set('ETag', file.etag.replace(/"$/, ':br"'));
  }
  ctx.body = coding === 'br' ? file.compressed : file.content;
}
