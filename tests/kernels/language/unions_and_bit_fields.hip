// Colours of 16 bits as bit fields, floats taken apart through a union.
struct Colour {
    unsigned short red : 5;
    unsigned short green : 6;
    unsigned short blue : 5;
};
union Number {
    float value;
    unsigned bits;
    unsigned char bytes[4];
};

__global__ void unions_and_bit_fields(const float* in, const unsigned* pixels, uint4* out, unsigned short* colours, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Number number;
    number.value = in[i];
    unsigned exponent = (number.bits >> 23) & 0xff;
    unsigned top = number.bytes[3];
    number.bits &= 0x7fffffffu;
    out[i] = make_uint4(exponent, top, number.bits, sizeof(Number) * 10 + sizeof(Colour));
    Colour c;
    c.red = pixels[i] >> 19;
    c.green = pixels[i] >> 10;
    c.blue = pixels[i] >> 3;
    colours[i] = (unsigned short)(c.red | c.green << 5 | c.blue << 11);
}
