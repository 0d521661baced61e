// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611232147;
export const functionsDigest = '7ab45a6369539a5405bffb1d55067fd9b8d5cfe0217ec477268c6ff797d9fddf';
