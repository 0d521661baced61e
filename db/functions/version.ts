// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231413;
export const functionsDigest = 'a18cf91ec87c6f380f6525b7eaa56f67b33d6a58110c0af95b8507172d1d6d06';
