// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231001;
export const functionsDigest = '276c04a7bc52351f8c44457e5a4df26b49f0d456a8bcd2403c4022611c3aade3';
