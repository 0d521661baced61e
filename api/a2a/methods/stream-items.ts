import { StreamResponse } from '@a2a-js/sdk';
import type { A2AStreamItem } from '../../../contracts/a2a/objects.ts';
import type { A2ACall, ItemStream } from '../call.ts';

export type EventStream = AsyncGenerator<StreamResponse, void, undefined>;

/** Converts items to the SDK's events. Each item's id is kept in `call.lastItem` for the stream's writer. */
export async function* streamItems(call: A2ACall, source: ItemStream | A2AStreamItem[]): EventStream {
  for await (const { id, update } of source) {
    call.lastItem.id = id;
    yield StreamResponse.fromJSON(update);
  }
}
