/* Generated from dtypes.toml and ops.toml by ./x generate. Do not edit. */
#ifndef AGPU_TABLES_H
#define AGPU_TABLES_H

/* Values of DLPack's DLDataTypeCode. */
#define AGPU_DTYPE_INT 0
#define AGPU_DTYPE_UINT 1
#define AGPU_DTYPE_FLOAT 2
#define AGPU_DTYPE_BFLOAT 4
#define AGPU_DTYPE_COMPLEX 5
#define AGPU_DTYPE_BOOL 6

#endif
