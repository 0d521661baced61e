/**
 * A line of control of a run: the main one, or a branch of a fork. Events of a strand keep their order in the
 * log, also relative to the strand that forked it and to those that it forked. Parallel branches have no
 * order among each other.
 */
export class Strand {
  readonly parent: Strand | null;

  constructor(parent: Strand | null = null) {
    this.parent = parent;
  }

  branch(): Strand {
    return new Strand(this);
  }

  /** Whether this strand is `other` or descends from it. */
  isWithin(other: Strand): boolean {
    return this === other || (this.parent?.isWithin(other) ?? false);
  }

  /** The branch of the outermost fork that contains this strand; the main strand itself outside of forks. */
  get outermost(): Strand {
    return this.parent?.parent ? this.parent.outermost : this;
  }
}

/**
 * Whether an event of `later` has to follow an earlier added event of `earlier`. Null stands for the run's
 * own events, such as a signal's: everything after them follows them, and they follow only each other.
 */
export function mustFollow(later: Strand | null, earlier: Strand | null): boolean {
  if (earlier === null) return true;
  return later !== null && (later.isWithin(earlier) || earlier.isWithin(later));
}
