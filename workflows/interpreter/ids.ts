import { v7 as uuidv7 } from 'uuid';

/** UUIDv7 from workflow time and its seeded random numbers, so every replay gets the same id. */
export function workflowUuid(): string {
  const random = new Uint8Array(16);
  for (let i = 0; i < random.length; i++) random[i] = Math.floor(Math.random() * 256);
  return uuidv7({ msecs: Date.now(), random, seq: Math.floor(Math.random() * 0x7fffffff) });
}
