// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611300906;
export const functionsDigest = 'db452bc2bbcb362a0919fba8b33ee495d76ddfd4c9fbdaee918848eded1819f4';
