source_filename = "language.hip"
target triple = "amdgcn-amd-amdhsa"

@weights = protected addrspace(4) externally_initialized global [16 x i8] c"\00\00\80\3E\00\00\00\3F\00\00\40\3F\00\00\80\3F", align 4
@__agpu_two_over_pi.1 = internal unnamed_addr addrspace(4) constant [40 x i8] c"\00\00\00\00\6E\83\F9\A2\29\15\44\4E\D1\57\27\FC\C0\DD\34\F5\99\95\62\DB\41\90\43\3C\AB\63\51\FE\61\C5\BB\DE\00\00\00\00", align 4
define internal i32 @factorial.5(i32 %p0) #0 {
b0:
  %v2 = icmp sle i32 %p0, 1
  br i1 %v2, label %b1, label %b2
b1:
  br label %b3
b2:
  %v3 = add i32 %p0, -1
  %v4 = call i32 @factorial.5(i32 %v3)
  %v5 = mul i32 %p0, %v4
  br label %b3
b3:
  %v6 = phi i32 [ 1, %b1 ], [ %v5, %b2 ]
  ret i32 %v6
}

define amdgpu_kernel void @language(ptr addrspace(1) noalias %p0, ptr addrspace(1) noalias %p1, ptr addrspace(1) %p2, i32 %p3, i8 %p4, double %p5, i8 %p6) #0 "amdgpu-flat-work-group-size"="1,256" {
b0:
  %v16 = alloca [16 x i8], align 4, addrspace(5)
  %v18 = alloca [12 x i8], align 4, addrspace(5)
  %v76 = alloca [12 x i8], align 4, addrspace(5)
  %v78 = alloca [12 x i8], align 4, addrspace(5)
  %v3 = addrspacecast ptr addrspace(1) %p1 to ptr
  %v9 = icmp ne i8 %p4, 0
  %v316 = call i32 @llvm.amdgcn.workgroup.id.x()
  %v317.a = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %v317.p = getelementptr inbounds i8, ptr addrspace(4) %v317.a, i64 12
  %v317.w = load i16, ptr addrspace(4) %v317.p, align 2
  %v317 = zext i16 %v317.w to i32
  %v318 = mul i32 %v316, %v317
  %v319 = call i32 @llvm.amdgcn.workitem.id.x()
  %v320 = add i32 %v318, %v319
  %v23 = icmp uge i32 %v320, %p3
  br i1 %v23, label %b1, label %b2
b1:
  ret void
b2:
  %v28 = zext i32 %v320 to i64
  %v618 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v28
  %v30 = load float, ptr addrspace(1) %v618, align 4
  %v323 = fmul float %v30, %v30
  %v35 = fadd float %v323, 0x3FF0000000000000
  call void @llvm.memset.p5.i64(ptr addrspace(5) align 4 %v16, i8 0, i64 16, i1 false)
  store float 0x3FF0000000000000, ptr addrspace(5) %v16, align 4
  %v625 = getelementptr inbounds i8, ptr addrspace(5) %v16, i64 4
  store float 0x4000000000000000, ptr addrspace(5) %v625, align 4
  %v648 = load float, ptr addrspace(4) @weights, align 4
  %v649 = call float @llvm.fma.f32(float %v30, float %v648, float 0x3FF0000000000000)
  store float %v649, ptr addrspace(5) %v16, align 4
  %v655 = getelementptr inbounds i32, ptr addrspace(5) %v16, i64 1
  %v658 = getelementptr inbounds i32, ptr addrspace(4) @weights, i64 1
  %v659 = load float, ptr addrspace(4) %v658, align 4
  %v660 = call float @llvm.fma.f32(float %v30, float %v659, float 0x4000000000000000)
  store float %v660, ptr addrspace(5) %v655, align 4
  %v666 = getelementptr inbounds i32, ptr addrspace(5) %v16, i64 2
  %v667 = load float, ptr addrspace(5) %v666, align 4
  %v669 = getelementptr inbounds i32, ptr addrspace(4) @weights, i64 2
  %v670 = load float, ptr addrspace(4) %v669, align 4
  %v671 = call float @llvm.fma.f32(float %v30, float %v670, float %v667)
  store float %v671, ptr addrspace(5) %v666, align 4
  %v619 = getelementptr inbounds [12 x i8], ptr addrspace(1) %p2, i64 %v28
  call void @llvm.memcpy.p5.p1.i64(ptr addrspace(5) align 4 %v18, ptr addrspace(1) align 4 %v619, i64 12, i1 false)
  call void @llvm.memcpy.p5.p5.i64(ptr addrspace(5) align 4 %v78, ptr addrspace(5) align 4 %v18, i64 12, i1 false)
  %v328 = load float, ptr addrspace(5) %v78, align 4
  %v329 = fadd float %v328, %v35
  store float %v329, ptr addrspace(5) %v78, align 4
  %v627 = getelementptr inbounds i8, ptr addrspace(5) %v78, i64 4
  %v333 = load float, ptr addrspace(5) %v627, align 4
  %v334 = fsub float %v333, %v35
  store float %v334, ptr addrspace(5) %v627, align 4
  call void @llvm.memcpy.p5.p5.i64(ptr addrspace(5) align 4 %v76, ptr addrspace(5) align 4 %v78, i64 12, i1 false)
  call void @llvm.memcpy.p5.p5.i64(ptr addrspace(5) align 4 %v18, ptr addrspace(5) align 4 %v76, i64 12, i1 false)
  %v87 = load float, ptr addrspace(5) %v18, align 4
  store float %v87, ptr addrspace(1) %v619, align 4
  br i1 %v9, label %b11, label %b12
b11:
  %v622 = getelementptr inbounds i8, ptr addrspace(5) %v18, i64 4
  %v95 = load float, ptr addrspace(5) %v622, align 4
  br label %b13
b12:
  %v623 = getelementptr inbounds i8, ptr addrspace(5) %v18, i64 4
  %v97 = load float, ptr addrspace(5) %v623, align 4
  %v98 = fneg float %v97
  br label %b13
b13:
  %v99 = phi float [ %v95, %b11 ], [ %v98, %b12 ]
  %v714 = getelementptr inbounds i8, ptr addrspace(1) %v619, i64 4
  store float %v99, ptr addrspace(1) %v714, align 4
  %v715 = getelementptr inbounds i8, ptr addrspace(1) %v619, i64 8
  %v106 = load i32, ptr addrspace(1) %v715, align 4
  %v107 = xor i32 %v106, 90
  store i32 %v107, ptr addrspace(1) %v715, align 4
  br label %b14
b14:
  %v718 = phi float [ %v35, %b13 ], [ %v120, %b19 ]
  %v111 = phi i32 [ 0, %b13 ], [ %v112, %b19 ]
  %v112 = add i32 %v111, 1
  %v114 = icmp sgt i32 %v112, 7
  br i1 %v114, label %b18, label %b20
b18:
  %v128 = fcmp olt float %v30, 0x4059000000000000
  br label %b22
b19:
  %v120 = fmul float %v718, 0x3FF8000000000000
  br label %b14
b20:
  %v117 = fcmp ogt float %v718, 0x412E848000000000
  br i1 %v117, label %b18, label %b19
b22:
  %v123 = phi i32 [ %v112, %b18 ], [ %v124, %b25 ]
  %v124 = add i32 %v123, -1
  %v125 = icmp sgt i32 %v124, 0
  br i1 %v125, label %b25, label %b24
b24:
  %v143 = zext i8 %p6 to i32
  switch i32 %v143, label %b30 [ i32 0, label %b27 i32 2, label %b28 i32 3, label %b28 i32 4, label %b29 ]
b25:
  br i1 %v128, label %b22, label %b24
b26:
  %v722 = phi float [ %v145, %b27 ], [ %v151, %b29 ], [ 0x0000000000000000, %b30 ]
  %v166 = and i32 %v320, 1
  %v167 = icmp ne i32 %v166, 0
  %v169 = select i1 %v167, i8 3, i8 0
  %v170 = icmp eq i8 %v169, 3
  %v172 = fneg float %v722
  %v743 = select i1 %v170, float %v172, float %v722
  %v175 = shl i32 %v320, 3
  %v176 = lshr i32 %v175, 1
  %v193 = icmp slt i32 %p3, 3
  %v194 = select i1 %v193, i32 %p3, i32 3
  %v195.z = icmp eq i32 %v194, 0
  %v195.m = icmp eq i32 %v194, -1
  %v195.s = or i1 %v195.z, %v195.m
  %v195.d = select i1 %v195.s, i32 1, i32 %v194
  %v195.q = sdiv i32 %v320, %v195.d
  %v195.n = sub i32 0, %v320
  %v195.r = select i1 %v195.m, i32 %v195.n, i32 %v195.q
  %v195 = select i1 %v195.z, i32 0, i32 %v195.r
  %v197 = srem i32 %v195, 5
  %v199 = xor i32 %v197, -1
  %v201 = and i32 %v199, 255
  %v202 = or i32 %v176, %v201
  %v203 = sext i32 %v202 to i64
  %v206 = mul i64 %v203, 6
  %v207 = trunc i64 %v206 to i16
  %v208 = sext i16 %v207 to i64
  %v209 = add i64 %v206, %v208
  %v211 = add i64 %v209, -12
  %v212 = and i32 %v320, 3
  %v213 = zext i32 %v212 to i64
  %v628 = getelementptr inbounds i32, ptr addrspace(5) %v16, i64 %v213
  %v215 = load float, ptr addrspace(5) %v628, align 4
  %v218 = sitofp i64 %v211 to float
  %v355 = call float @llvm.fma.f32(float %v718, float %v743, float %v218)
  %v220 = fadd float %v215, %v355
  %v361 = call float @llvm.fabs.f32(float %v718)
  %v364 = call float @llvm.sqrt.f32(float %v361)
  %v224 = fadd float %v220, %v364
  %v368 = call float @llvm.minimumnum.f32(float %v718, float %v743)
  %v228 = fadd float %v224, %v368
  %v230 = fneg float %v718
  %v232 = fmul float %v230, %v718
  %v372 = fcmp ogt float %v232, 0x4056400000000000
  %v373 = select i1 %v372, float 0x4056400000000000, float %v232
  %v375 = fcmp olt float %v373, 0xC05A000000000000
  %v376 = select i1 %v375, float 0xC05A000000000000, float %v373
  %v379 = call float @llvm.fma.f32(float %v376, float 0x3FF7154760000000, float 0x4168000000000000)
  %v380 = fsub float %v379, 0x4168000000000000
  %v382 = call float @llvm.fma.f32(float %v380, float 0xBFE62E4300000000, float %v376)
  %v384 = call float @llvm.fma.f32(float %v380, float 0x3E205C6100000000, float %v382)
  %v387 = call float @llvm.fma.f32(float 0x3F56A1A720000000, float %v384, float 0x3F8123FC60000000)
  %v389 = call float @llvm.fma.f32(float %v387, float %v384, float 0x3FA5559160000000)
  %v391 = call float @llvm.fma.f32(float %v389, float %v384, float 0x3FC55548A0000000)
  %v393 = call float @llvm.fma.f32(float %v391, float %v384, float 0x3FDFFFFFC0000000)
  %v395 = fmul float %v384, %v384
  %v396 = call float @llvm.fma.f32(float %v395, float %v393, float %v384)
  %v397 = fadd float 0x3FF0000000000000, %v396
  %v398 = bitcast float %v379 to i32
  %v400 = add i32 %v398, -1262485504
  %v402 = ashr i32 %v400, 1
  %v404 = add i32 %v402, 127
  %v406 = shl i32 %v404, 23
  %v407 = bitcast i32 %v406 to float
  %v408 = fmul float %v397, %v407
  %v409 = sub i32 %v400, %v402
  %v410 = add i32 %v409, 127
  %v411 = shl i32 %v410, 23
  %v412 = bitcast i32 %v411 to float
  %v413 = fmul float %v408, %v412
  %v234 = fadd float %v228, %v413
  %v417 = fcmp oeq float %v743, 0x0000000000000000
  br i1 %v417, label %b75, label %b80
b27:
  %v145 = fadd float %v30, 0x3FF0000000000000
  br label %b26
b28:
  %v148 = fsub float %v30, 0x3FF0000000000000
  br label %b29
b29:
  %v721 = phi float [ %v30, %b24 ], [ %v148, %b28 ]
  %v151 = fmul float %v721, 0x4000000000000000
  br label %b26
b30:
  br label %b26
b75:
  br label %b77
b77:
  %v420 = phi float [ %v743, %b75 ], [ %v419, %b79 ]
  %v237 = fadd float %v234, %v420
  %v238 = call i32 @factorial.5(i32 3)
  %v239 = sitofp i32 %v238 to float
  %v240 = fadd float %v237, %v239
  %v598 = fmul double %p5, %p5
  %v260 = fcmp ogt double %v598, 0x4000000000000000
  %v261 = select i1 %v260, i32 1, i32 0
  %v262 = sitofp i32 %v261 to float
  %v263 = fadd float %v240, %v262
  %v270 = fadd float 0x4000000000000000, %v718
  %v274 = fadd float %v263, %v270
  %v277 = fcmp olt float %v718, %v743
  %v744 = select i1 %v277, float %v718, float %v743
  %v281 = fsub float %v274, %v744
  %v300 = sext i32 %p3 to i64
  %v624 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v300
  %v301 = addrspacecast ptr addrspace(1) %v624 to ptr
  %v302 = icmp ugt ptr %v301, %v3
  %v303 = select i1 %v302, i32 1, i32 0
  %v304 = sitofp i32 %v303 to float
  %v305 = fadd float %v281, %v304
  %v349 = icmp ugt i32 %v320, 7
  %v350 = select i1 %v349, i32 %v320, i32 7
  %v308 = uitofp i32 %v350 to float
  %v309 = fadd float %v305, %v308
  %v358 = call i32 @llvm.ctpop.i32(i32 %v320)
  %v311 = sitofp i32 %v358 to float
  %v312 = fadd float %v309, %v311
  %v629 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v28
  store float %v312, ptr addrspace(1) %v629, align 4
  ret void
b79:
  %v419 = phi float [ 0x7FF8000000000000, %b81 ], [ %v480, %b85 ]
  br label %b77
b80:
  %v423 = call float @llvm.fabs.f32(float %v743)
  %v426 = fcmp olt float %v423, 0x7FF0000000000000
  br i1 %v426, label %b82, label %b81
b81:
  br label %b79
b82:
  %v434 = fcmp ogt float %v423, 0x40F0000000000000
  br i1 %v434, label %b89, label %b86
b85:
  %v469 = phi float [ %v450, %b89 ], [ %v462, %b86 ]
  %v467 = phi i32 [ %v453, %b89 ], [ %v463, %b86 ]
  %v571 = fmul float %v469, %v469
  %v574 = call float @llvm.fma.f32(float 0x3EC6CCCC80000000, float %v571, float 0xBF2A00F6A0000000)
  %v576 = call float @llvm.fma.f32(float %v574, float %v571, float 0x3F81111080000000)
  %v578 = call float @llvm.fma.f32(float %v576, float %v571, float 0xBFC5555560000000)
  %v579 = fmul float %v469, %v571
  %v580 = call float @llvm.fma.f32(float %v579, float %v578, float %v469)
  %v586 = call float @llvm.fma.f32(float 0xBE9241AB60000000, float %v571, float 0x3EFA010CC0000000)
  %v588 = call float @llvm.fma.f32(float %v586, float %v571, float 0xBF56C16B80000000)
  %v590 = call float @llvm.fma.f32(float %v588, float %v571, float 0x3FA5555560000000)
  %v591 = fmul float %v571, %v571
  %v594 = call float @llvm.fma.f32(float %v571, float 0xBFE0000000000000, float 0x3FF0000000000000)
  %v595 = call float @llvm.fma.f32(float %v591, float %v590, float %v594)
  %v473 = and i32 %v467, 1
  %v474 = icmp ne i32 %v473, 0
  %v475 = select i1 %v474, float %v595, float %v580
  %v477 = and i32 %v467, 2
  %v478 = icmp ne i32 %v477, 0
  %v479 = fneg float %v475
  %v480 = select i1 %v478, float %v479, float %v475
  br label %b79
b86:
  %v455 = fmul float %v743, 0x3FE45F3060000000
  %v456 = call float @llvm.roundeven.f32(float %v455)
  %v458 = call float @llvm.fma.f32(float %v456, float 0xBFF921FB60000000, float %v743)
  %v460 = call float @llvm.fma.f32(float %v456, float 0x3E6777A5C0000000, float %v458)
  %v462 = call float @llvm.fma.f32(float %v456, float 0x3CDEE59DA0000000, float %v460)
  %v463 = call i32 @llvm.fptosi.sat.i32.f32(float %v456)
  br label %b85
b89:
  %v482 = bitcast float %v423 to i32
  %v484 = and i32 %v482, 8388607
  %v486 = or i32 %v484, 8388608
  %v487 = sext i32 %v486 to i64
  %v489 = ashr i32 %v482, 23
  %v493 = add i32 %v489, -120
  %v495 = ashr i32 %v493, 5
  %v497 = and i32 %v493, 31
  %v500 = sext i32 %v495 to i64
  %v630 = getelementptr inbounds i32, ptr addrspace(4) @__agpu_two_over_pi.1, i64 %v500
  %v502 = load i32, ptr addrspace(4) %v630, align 4
  %v503 = zext i32 %v502 to i64
  %v505 = shl i64 %v503, 32
  %v509 = add i32 %v495, 1
  %v510 = sext i32 %v509 to i64
  %v631 = getelementptr inbounds i32, ptr addrspace(4) @__agpu_two_over_pi.1, i64 %v510
  %v512 = load i32, ptr addrspace(4) %v631, align 4
  %v513 = zext i32 %v512 to i64
  %v514 = or i64 %v505, %v513
  %v515 = sext i32 %v497 to i64
  %v516.c = and i64 %v515, 63
  %v516 = shl i64 %v514, %v516.c
  %v517 = lshr i64 %v516, 32
  %v525 = shl i64 %v513, 32
  %v529 = add i32 %v495, 2
  %v530 = sext i32 %v529 to i64
  %v633 = getelementptr inbounds i32, ptr addrspace(4) @__agpu_two_over_pi.1, i64 %v530
  %v532 = load i32, ptr addrspace(4) %v633, align 4
  %v533 = zext i32 %v532 to i64
  %v534 = or i64 %v525, %v533
  %v536.c = and i64 %v515, 63
  %v536 = shl i64 %v534, %v536.c
  %v537 = lshr i64 %v536, 32
  %v545 = shl i64 %v533, 32
  %v549 = add i32 %v495, 3
  %v550 = sext i32 %v549 to i64
  %v635 = getelementptr inbounds i32, ptr addrspace(4) @__agpu_two_over_pi.1, i64 %v550
  %v552 = load i32, ptr addrspace(4) %v635, align 4
  %v553 = zext i32 %v552 to i64
  %v554 = or i64 %v545, %v553
  %v556.c = and i64 %v515, 63
  %v556 = shl i64 %v554, %v556.c
  %v557 = lshr i64 %v556, 32
  %v558 = mul i64 %v487, %v557
  %v559 = lshr i64 %v558, 32
  %v560 = mul i64 %v487, %v537
  %v561 = add i64 %v559, %v560
  %v562 = lshr i64 %v561, 32
  %v563 = mul i64 %v487, %v517
  %v564 = add i64 %v562, %v563
  %v565 = shl i64 %v564, 32
  %v567 = and i64 %v561, 4294967295
  %v568 = or i64 %v565, %v567
  %v437 = add i64 %v568, 2305843009213693952
  %v439 = lshr i64 %v437, 62
  %v440 = shl i64 %v439, 62
  %v441 = sub i64 %v568, %v440
  %v442 = sitofp i64 %v441 to double
  %v444 = fmul double %v442, 0x3C1921FB54442D18
  %v445 = fptrunc double %v444 to float
  %v446 = trunc i64 %v439 to i32
  %v448 = fcmp olt float %v743, 0x0000000000000000
  %v449 = fneg float %v445
  %v450 = select i1 %v448, float %v449, float %v445
  %v452 = sub i32 0, %v446
  %v453 = select i1 %v448, i32 %v452, i32 %v446
  br label %b85
}

declare float @llvm.fabs.f32(float) #1
declare float @llvm.fma.f32(float, float, float) #1
declare float @llvm.minimumnum.f32(float, float) #1
declare float @llvm.roundeven.f32(float) #1
declare float @llvm.sqrt.f32(float) #1
declare i32 @llvm.amdgcn.workgroup.id.x() #1
declare i32 @llvm.amdgcn.workitem.id.x() #1
declare i32 @llvm.ctpop.i32(i32) #1
declare i32 @llvm.fptosi.sat.i32.f32(float) #1
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr() #1
declare void @llvm.memcpy.p5.p1.i64(ptr addrspace(5), ptr addrspace(1), i64, i1)
declare void @llvm.memcpy.p5.p5.i64(ptr addrspace(5), ptr addrspace(5), i64, i1)
declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)
attributes #0 = { nounwind "target-cpu"="gfx1100" "uniform-work-group-size"="true" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
