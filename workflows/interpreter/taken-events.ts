import type { TakenEvents } from '../../contracts/listening.ts';
import type { ListenFrame } from './state.ts';

/** Adds events to the buffer of a listening task. They are numbered, so what comes again is dropped. */
export function receiveEvents(listen: ListenFrame, { events, done, more }: TakenEvents): void {
  for (const event of events) {
    if (event.seq <= listen.after) continue;
    listen.after = event.seq;
    listen.buffer.push(event);
  }
  if (done) listen.done = true;
  // What was told in the meantime stays true.
  listen.more = (listen.more || more) && !listen.done;
}
