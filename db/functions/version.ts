// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231801;
export const functionsDigest = '4be5533b21a0a2cab566dc83d9ae633ab3ddff0d29b4d5801ce913df98b866d2';
