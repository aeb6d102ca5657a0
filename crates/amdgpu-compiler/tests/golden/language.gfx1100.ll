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
  %v614 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v28
  %v30 = load float, ptr addrspace(1) %v614, align 4
  %v323 = fmul float %v30, %v30
  %v35 = fadd float %v323, 0x3FF0000000000000
  call void @llvm.memset.p5.i64(ptr addrspace(5) align 4 %v16, i8 0, i64 16, i1 false)
  store float 0x3FF0000000000000, ptr addrspace(5) %v16, align 4
  %v621 = getelementptr inbounds i8, ptr addrspace(5) %v16, i64 4
  store float 0x4000000000000000, ptr addrspace(5) %v621, align 4
  %v644 = load float, ptr addrspace(4) @weights, align 4
  %v645 = call float @llvm.fma.f32(float %v30, float %v644, float 0x3FF0000000000000)
  store float %v645, ptr addrspace(5) %v16, align 4
  %v651 = getelementptr inbounds i32, ptr addrspace(5) %v16, i64 1
  %v654 = getelementptr inbounds i32, ptr addrspace(4) @weights, i64 1
  %v655 = load float, ptr addrspace(4) %v654, align 4
  %v656 = call float @llvm.fma.f32(float %v30, float %v655, float 0x4000000000000000)
  store float %v656, ptr addrspace(5) %v651, align 4
  %v662 = getelementptr inbounds i32, ptr addrspace(5) %v16, i64 2
  %v663 = load float, ptr addrspace(5) %v662, align 4
  %v665 = getelementptr inbounds i32, ptr addrspace(4) @weights, i64 2
  %v666 = load float, ptr addrspace(4) %v665, align 4
  %v667 = call float @llvm.fma.f32(float %v30, float %v666, float %v663)
  store float %v667, ptr addrspace(5) %v662, align 4
  %v615 = getelementptr inbounds [12 x i8], ptr addrspace(1) %p2, i64 %v28
  %v712 = load float, ptr addrspace(1) %v615, align 4
  %v715 = getelementptr inbounds i8, ptr addrspace(1) %v615, i64 4
  %v716 = load float, ptr addrspace(1) %v715, align 4
  %v329 = fadd float %v712, %v35
  %v334 = fsub float %v716, %v35
  store float %v329, ptr addrspace(1) %v615, align 4
  %v98 = fneg float %v334
  %v770 = select i1 %v9, float %v334, float %v98
  store float %v770, ptr addrspace(1) %v715, align 4
  %v711 = getelementptr inbounds i8, ptr addrspace(1) %v615, i64 8
  %v106 = load i32, ptr addrspace(1) %v711, align 4
  %v107 = xor i32 %v106, 90
  store i32 %v107, ptr addrspace(1) %v711, align 4
  br label %b14
b14:
  %v746 = phi float [ %v35, %b2 ], [ %v120, %b19 ]
  %v111 = phi i32 [ 0, %b2 ], [ %v112, %b19 ]
  %v112 = add i32 %v111, 1
  %v114 = icmp sgt i32 %v112, 7
  br i1 %v114, label %b18, label %b20
b18:
  %v128 = fcmp olt float %v30, 0x4059000000000000
  br label %b22
b19:
  %v120 = fmul float %v746, 0x3FF8000000000000
  br label %b14
b20:
  %v117 = fcmp ogt float %v746, 0x412E848000000000
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
  %v750 = phi float [ %v145, %b27 ], [ %v151, %b29 ], [ 0x0000000000000000, %b30 ]
  %v166 = and i32 %v320, 1
  %v167 = icmp ne i32 %v166, 0
  %v169 = select i1 %v167, i8 3, i8 0
  %v170 = icmp eq i8 %v169, 3
  %v172 = fneg float %v750
  %v771 = select i1 %v170, float %v172, float %v750
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
  %v624 = getelementptr inbounds i32, ptr addrspace(5) %v16, i64 %v213
  %v215 = load float, ptr addrspace(5) %v624, align 4
  %v218 = sitofp i64 %v211 to float
  %v355 = call float @llvm.fma.f32(float %v746, float %v771, float %v218)
  %v220 = fadd float %v215, %v355
  %v361 = call float @llvm.fabs.f32(float %v746)
  %v364 = call float @llvm.sqrt.f32(float %v361)
  %v224 = fadd float %v220, %v364
  %v368 = call float @llvm.minimumnum.f32(float %v746, float %v771)
  %v228 = fadd float %v224, %v368
  %v230 = fneg float %v746
  %v232 = fmul float %v230, %v746
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
  %v394 = fmul float %v384, %v384
  %v395 = call float @llvm.fma.f32(float %v394, float %v393, float %v384)
  %v396 = bitcast float %v379 to i32
  %v398 = ashr i32 %v396, 1
  %v400 = shl i32 %v398, 23
  %v402 = add i32 %v400, 1065353216
  %v403 = bitcast i32 %v402 to float
  %v404 = call float @llvm.fma.f32(float %v395, float %v403, float %v403)
  %v405 = sub i32 %v396, %v398
  %v406 = shl i32 %v405, 23
  %v407 = add i32 %v406, 1065353216
  %v408 = bitcast i32 %v407 to float
  %v409 = fmul float %v404, %v408
  %v234 = fadd float %v228, %v409
  %v413 = fcmp oeq float %v771, 0x0000000000000000
  br i1 %v413, label %b75, label %b80
b27:
  %v145 = fadd float %v30, 0x3FF0000000000000
  br label %b26
b28:
  %v148 = fsub float %v30, 0x3FF0000000000000
  br label %b29
b29:
  %v749 = phi float [ %v30, %b24 ], [ %v148, %b28 ]
  %v151 = fmul float %v749, 0x4000000000000000
  br label %b26
b30:
  br label %b26
b75:
  br label %b77
b77:
  %v416 = phi float [ %v771, %b75 ], [ %v415, %b79 ]
  %v237 = fadd float %v234, %v416
  %v238 = call i32 @factorial.5(i32 3)
  %v239 = sitofp i32 %v238 to float
  %v240 = fadd float %v237, %v239
  %v594 = fmul double %p5, %p5
  %v260 = fcmp ogt double %v594, 0x4000000000000000
  %v261 = select i1 %v260, i32 1, i32 0
  %v262 = sitofp i32 %v261 to float
  %v263 = fadd float %v240, %v262
  %v270 = fadd float 0x4000000000000000, %v746
  %v274 = fadd float %v263, %v270
  %v277 = fcmp olt float %v746, %v771
  %v772 = select i1 %v277, float %v746, float %v771
  %v281 = fsub float %v274, %v772
  %v300 = sext i32 %p3 to i64
  %v620 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v300
  %v301 = addrspacecast ptr addrspace(1) %v620 to ptr
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
  %v625 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v28
  store float %v312, ptr addrspace(1) %v625, align 4
  ret void
b79:
  %v415 = phi float [ 0x7FF8000000000000, %b81 ], [ %v476, %b85 ]
  br label %b77
b80:
  %v419 = call float @llvm.fabs.f32(float %v771)
  %v422 = fcmp olt float %v419, 0x7FF0000000000000
  br i1 %v422, label %b82, label %b81
b81:
  br label %b79
b82:
  %v430 = fcmp ogt float %v419, 0x40F0000000000000
  br i1 %v430, label %b89, label %b86
b85:
  %v465 = phi float [ %v446, %b89 ], [ %v458, %b86 ]
  %v463 = phi i32 [ %v449, %b89 ], [ %v459, %b86 ]
  %v567 = fmul float %v465, %v465
  %v570 = call float @llvm.fma.f32(float 0x3EC6CCCC80000000, float %v567, float 0xBF2A00F6A0000000)
  %v572 = call float @llvm.fma.f32(float %v570, float %v567, float 0x3F81111080000000)
  %v574 = call float @llvm.fma.f32(float %v572, float %v567, float 0xBFC5555560000000)
  %v575 = fmul float %v465, %v567
  %v576 = call float @llvm.fma.f32(float %v575, float %v574, float %v465)
  %v582 = call float @llvm.fma.f32(float 0xBE9241AB60000000, float %v567, float 0x3EFA010CC0000000)
  %v584 = call float @llvm.fma.f32(float %v582, float %v567, float 0xBF56C16B80000000)
  %v586 = call float @llvm.fma.f32(float %v584, float %v567, float 0x3FA5555560000000)
  %v587 = fmul float %v567, %v567
  %v590 = call float @llvm.fma.f32(float %v567, float 0xBFE0000000000000, float 0x3FF0000000000000)
  %v591 = call float @llvm.fma.f32(float %v587, float %v586, float %v590)
  %v469 = and i32 %v463, 1
  %v470 = icmp ne i32 %v469, 0
  %v471 = select i1 %v470, float %v591, float %v576
  %v473 = and i32 %v463, 2
  %v474 = icmp ne i32 %v473, 0
  %v475 = fneg float %v471
  %v476 = select i1 %v474, float %v475, float %v471
  br label %b79
b86:
  %v451 = fmul float %v771, 0x3FE45F3060000000
  %v452 = call float @llvm.roundeven.f32(float %v451)
  %v454 = call float @llvm.fma.f32(float %v452, float 0xBFF921FB60000000, float %v771)
  %v456 = call float @llvm.fma.f32(float %v452, float 0x3E6777A5C0000000, float %v454)
  %v458 = call float @llvm.fma.f32(float %v452, float 0x3CDEE59DA0000000, float %v456)
  %v459 = call i32 @llvm.fptosi.sat.i32.f32(float %v452)
  br label %b85
b89:
  %v478 = bitcast float %v419 to i32
  %v480 = and i32 %v478, 8388607
  %v482 = or i32 %v480, 8388608
  %v483 = sext i32 %v482 to i64
  %v485 = ashr i32 %v478, 23
  %v489 = add i32 %v485, -120
  %v491 = ashr i32 %v489, 5
  %v493 = and i32 %v489, 31
  %v496 = sext i32 %v491 to i64
  %v626 = getelementptr inbounds i32, ptr addrspace(4) @__agpu_two_over_pi.1, i64 %v496
  %v498 = load i32, ptr addrspace(4) %v626, align 4
  %v499 = zext i32 %v498 to i64
  %v501 = shl i64 %v499, 32
  %v505 = add i32 %v491, 1
  %v506 = sext i32 %v505 to i64
  %v627 = getelementptr inbounds i32, ptr addrspace(4) @__agpu_two_over_pi.1, i64 %v506
  %v508 = load i32, ptr addrspace(4) %v627, align 4
  %v509 = zext i32 %v508 to i64
  %v510 = or i64 %v501, %v509
  %v511 = sext i32 %v493 to i64
  %v512.c = and i64 %v511, 63
  %v512 = shl i64 %v510, %v512.c
  %v513 = lshr i64 %v512, 32
  %v521 = shl i64 %v509, 32
  %v525 = add i32 %v491, 2
  %v526 = sext i32 %v525 to i64
  %v629 = getelementptr inbounds i32, ptr addrspace(4) @__agpu_two_over_pi.1, i64 %v526
  %v528 = load i32, ptr addrspace(4) %v629, align 4
  %v529 = zext i32 %v528 to i64
  %v530 = or i64 %v521, %v529
  %v532.c = and i64 %v511, 63
  %v532 = shl i64 %v530, %v532.c
  %v533 = lshr i64 %v532, 32
  %v541 = shl i64 %v529, 32
  %v545 = add i32 %v491, 3
  %v546 = sext i32 %v545 to i64
  %v631 = getelementptr inbounds i32, ptr addrspace(4) @__agpu_two_over_pi.1, i64 %v546
  %v548 = load i32, ptr addrspace(4) %v631, align 4
  %v549 = zext i32 %v548 to i64
  %v550 = or i64 %v541, %v549
  %v552.c = and i64 %v511, 63
  %v552 = shl i64 %v550, %v552.c
  %v553 = lshr i64 %v552, 32
  %v554 = mul i64 %v483, %v553
  %v555 = lshr i64 %v554, 32
  %v556 = mul i64 %v483, %v533
  %v557 = add i64 %v555, %v556
  %v558 = lshr i64 %v557, 32
  %v559 = mul i64 %v483, %v513
  %v560 = add i64 %v558, %v559
  %v561 = shl i64 %v560, 32
  %v563 = and i64 %v557, 4294967295
  %v564 = or i64 %v561, %v563
  %v433 = add i64 %v564, 2305843009213693952
  %v435 = lshr i64 %v433, 62
  %v436 = shl i64 %v435, 62
  %v437 = sub i64 %v564, %v436
  %v438 = sitofp i64 %v437 to double
  %v440 = fmul double %v438, 0x3C1921FB54442D18
  %v441 = fptrunc double %v440 to float
  %v442 = trunc i64 %v435 to i32
  %v444 = fcmp olt float %v771, 0x0000000000000000
  %v445 = fneg float %v441
  %v446 = select i1 %v444, float %v445, float %v441
  %v448 = sub i32 0, %v442
  %v449 = select i1 %v444, i32 %v448, i32 %v442
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
declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)
attributes #0 = { nounwind "target-cpu"="gfx1100" "uniform-work-group-size"="true" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
