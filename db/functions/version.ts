// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611300157;
export const functionsDigest = 'd40abf141bf447ab02c7eb5ecc523de4e459208153fb29f85df4c58b7e750b05';
