/** Kafka's error codes (kafka.apache.org/protocol "Error Codes"). */
import type { StandardErrorName } from '../../../contracts/dsl-error.ts';
import type { Fault } from '../../../contracts/fault.ts';
import { refusal } from '../broker.ts';
import type { Connecting } from '../protocol.ts';

export const ERROR = {
  none: 0,
  offsetOutOfRange: 1,
  unknownTopic: 3,
  leaderNotAvailable: 5,
  coordinatorLoading: 14,
  coordinatorNotAvailable: 15,
  notCoordinator: 16,
  illegalGeneration: 22,
  unknownMember: 25,
  rebalanceInProgress: 27,
  authenticationFailed: 58,
} as const;

/** The leader is another one now, or there will be one soon. */
const STALE: ReadonlySet<number> = new Set([3, 5, 6, 7, 9, 13, 56, 72, 74, 75, 78]);

export function isStale(code: number): boolean {
  return STALE.has(code);
}

/** The member has to join the group again. */
export function mustRejoin(code: number): boolean {
  return (
    code === ERROR.illegalGeneration || code === ERROR.unknownMember || code === ERROR.rebalanceInProgress
  );
}

/** The group has to be looked for again. */
export function mustFindCoordinator(code: number): boolean {
  return (
    code === ERROR.coordinatorLoading ||
    code === ERROR.coordinatorNotAvailable ||
    code === ERROR.notCoordinator
  );
}

const KNOWN: Readonly<Record<number, readonly [StandardErrorName, string]>> = {
  3: ['configuration', 'there is no such topic'],
  10: ['validation', 'the message is too large'],
  17: ['configuration', 'the topic has no valid name'],
  18: ['validation', 'the message is larger than a segment'],
  19: ['communication', 'too few replicas are in sync'],
  24: ['configuration', 'the group has no valid name'],
  26: ['configuration', 'the group does not allow this session timeout'],
  29: ['authorization', 'the topic is not allowed'],
  30: ['authorization', 'the group is not allowed'],
  31: ['authorization', 'the cluster does not allow it'],
  33: ['configuration', 'the mechanism of SASL is not enabled'],
  35: ['configuration', 'the version of the protocol is not supported'],
  44: ['validation', 'a policy of the broker forbids it'],
  58: ['authentication', 'the credentials are wrong'],
  76: ['communication', 'the compression is not supported'],
  81: ['configuration', 'the group is full'],
  87: ['validation', 'the broker does not take the record'],
};

/** `reason` is the broker's own, if it gives one. */
export function kafkaFault(connecting: Connecting, code: number, reason?: string | null): Fault {
  const [name, words] = KNOWN[code] ?? ['communication', ''];
  const said = [words, reason ?? ''].filter((text) => text !== '').join(': ');
  return refusal(connecting, name, `${said === '' ? 'Kafka' : said} (error ${code})`);
}
