// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611300148;
export const functionsDigest = 'd747b0f76b89b5d9355acd97ba58ad8628dc8a3d291a704185ebb813cfca4bb4';
