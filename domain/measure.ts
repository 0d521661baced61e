/** Does synchronous work, and counts its time as that of the caller whose request needs it. */
export type Measure = <T>(work: () => T) => T;

/** For work that is nobody's request. */
export const unmeasured: Measure = (work) => work();
