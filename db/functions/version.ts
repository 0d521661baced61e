// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611240253;
export const functionsDigest = '4e1c6b661f9fc0afef5020dc2ae4102741c0585d87f5c507378dff0152812a42';
