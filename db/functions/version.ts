// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611290155;
export const functionsDigest = '711be11a480ace6abf11f34cd597afeca9297b8f39a8c7c221c8843ece811c2c';
