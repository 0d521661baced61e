// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231313;
export const functionsDigest = 'f1eb01c488215a45f694612d25fb822babed7d3ab01267f7260b20a6d49bc039';
