/** Which faults happen when: the same seed gives the same plan. */
import { randomFrom } from '../../support/seeded.ts';

export const APIS = ['api-1', 'api-2'] as const;
export const WORKERS = ['worker-1', 'worker-2'] as const;
export const COPIES = [...APIS, ...WORKERS] as const;
export const SERVERS = ['PostgreSQL', 'Temporal'] as const;
export type Copy = (typeof COPIES)[number];
export type Server = (typeof SERVERS)[number];
export type Role = Copy | Server;

const DISKS = ['the database', 'the file store'] as const;
export type DiskName = (typeof DISKS)[number];

type Network = { copies: readonly Copy[]; server: Server };

export type Trouble =
  | { kind: 'kill'; roles: readonly Role[] }
  /** The signal of an orderly stop: copies drain. */
  | { kind: 'stop'; roles: readonly Role[] }
  | { kind: 'freeze'; roles: readonly Role[] }
  | ({ kind: 'slow'; delayMs: number } & Network)
  /** Connections are reset, and new ones refused. */
  | ({ kind: 'cut' } & Network)
  /** Nothing arrives, and nobody is told. */
  | ({ kind: 'silent' } & Network)
  /** `pg_terminate_backend` for this share of the connections. */
  | { kind: 'terminate'; share: number }
  | { kind: 'full disk'; disk: DiskName }
  /** Only so many more files and sockets than are open now. */
  | { kind: 'few descriptors'; role: Role; spare: number }
  | { kind: 'clock'; copy: Copy; skewMs: number };

export interface Fault {
  /** From the start of the load. */
  atMs: number;
  /** 0: it is over at once. */
  forMs: number;
  trouble: Trouble;
}

/** The load runs undisturbed at first. */
const QUIET_MS = 10_000;
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [1_000, 7_000];

type Draw = {
  number(from: number, to: number): number;
  one<T>(of: readonly T[]): T;
};

/** One entry for each combination that should happen: they are dealt like cards, so none is left out. */
const DECK: readonly ((draw: Draw) => Omit<Fault, 'atMs'>)[] = [
  ...[...COPIES, ...SERVERS].flatMap((role) => [
    () => ({ forMs: 0, trouble: { kind: 'kill', roles: [role] } as const }),
    () => ({ forMs: 0, trouble: { kind: 'stop', roles: [role] } as const }),
    (draw: Draw) => ({
      forMs: draw.number(1_000, 20_000),
      trouble: { kind: 'freeze', roles: [role] } as const,
    }),
  ]),
  ...([APIS, WORKERS, [...COPIES, ...SERVERS]] as const).map((roles) => () => ({
    forMs: 0,
    trouble: { kind: 'kill', roles } as const,
  })),
  ...SERVERS.flatMap((server) =>
    [...COPIES.map((copy) => [copy]), COPIES].flatMap((copies) => [
      (draw: Draw) => ({
        forMs: draw.number(3_000, 30_000),
        trouble: { kind: 'slow', copies, server, delayMs: draw.number(20, 800) } as const,
      }),
      (draw: Draw) => ({
        forMs: draw.number(500, 15_000),
        trouble: { kind: draw.one(['cut', 'silent'] as const), copies, server } as const,
      }),
    ]),
  ),
  ...[0.3, 1].map((share) => () => ({ forMs: 0, trouble: { kind: 'terminate', share } as const })),
  ...DISKS.map((disk) => (draw: Draw) => ({
    forMs: draw.number(2_000, 12_000),
    trouble: { kind: 'full disk', disk } as const,
  })),
  ...([...COPIES, 'Temporal'] as const).map((role) => (draw: Draw) => ({
    forMs: draw.number(3_000, 15_000),
    trouble: { kind: 'few descriptors', role, spare: draw.number(0, 3) } as const,
  })),
  ...COPIES.map((copy) => (draw: Draw) => ({
    forMs: draw.number(5_000, 40_000),
    trouble: { kind: 'clock', copy, skewMs: draw.one([-1, 1]) * draw.number(1_000, 600_000) } as const,
  })),
];

/** Faults overlap as it happens: many last longer than the pause before the next one. */
export function planFaults(seed: number, minutes: number): Fault[] {
  const random = randomFrom(seed);
  const draw: Draw = {
    number: (from, to) => from + Math.floor(random() * (to - from + 1)),
    one: (of) => of[Math.floor(random() * of.length)]!,
  };
  const faults: Fault[] = [];
  let cards: (typeof DECK)[number][] = [];
  for (let atMs = QUIET_MS; atMs < minutes * 60_000;) {
    if (cards.length === 0) cards = [...DECK];
    const [card] = cards.splice(Math.floor(random() * cards.length), 1);
    faults.push({ atMs, ...card!(draw) });
    atMs += draw.number(SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS);
  }
  return faults;
}

/** One line. */
export function describeFault({ forMs, trouble }: Omit<Fault, 'atMs'>): string {
  const lasts = forMs === 0 ? '' : ` for ${(forMs / 1_000).toFixed(1)} s`;
  return `${describeTrouble(trouble)}${lasts}`;
}

function describeTrouble(trouble: Trouble): string {
  switch (trouble.kind) {
    case 'kill':
      return `kill -9 of ${trouble.roles.join(', ')}`;
    case 'stop':
      return `orderly stop of ${trouble.roles.join(', ')}`;
    case 'freeze':
      return `${trouble.roles.join(', ')} frozen`;
    case 'slow':
      return `slow network ${between(trouble)} (${trouble.delayMs} ms)`;
    case 'cut':
      return `cut network ${between(trouble)}`;
    case 'silent':
      return `black hole ${between(trouble)}`;
    case 'terminate':
      return `${trouble.share * 100} % of the database's connections terminated`;
    case 'full disk':
      return `full disk of ${trouble.disk}`;
    case 'few descriptors':
      return `${trouble.role} may open ${trouble.spare} more descriptors`;
    case 'clock':
      return `clock of ${trouble.copy} skewed by ${(trouble.skewMs / 1_000).toFixed(0)} s`;
  }
}

function between({ copies, server }: Network): string {
  return `between ${copies.join(', ')} and ${server}`;
}
