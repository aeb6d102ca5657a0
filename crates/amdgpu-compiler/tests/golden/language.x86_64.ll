source_filename = "language.hip"
target triple = "x86_64-unknown-linux-gnu"

@weights = dso_local externally_initialized global [16 x i8] c"\00\00\80\3E\00\00\00\3F\00\00\40\3F\00\00\80\3F", align 4
@__agpu_two_over_pi.1 = internal unnamed_addr constant [40 x i8] c"\00\00\00\00\6E\83\F9\A2\29\15\44\4E\D1\57\27\FC\C0\DD\34\F5\99\95\62\DB\41\90\43\3C\AB\63\51\FE\61\C5\BB\DE\00\00\00\00", align 4
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

define internal void @language.item(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, i8 %p4, double %p5, i8 %p6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v16 = alloca [16 x i8], align 4
  %v18 = alloca [12 x i8], align 4
  %v76 = alloca [12 x i8], align 4
  %v78 = alloca [12 x i8], align 4
  %v9 = icmp ne i8 %p4, 0
  %v316 = add i32 %block_index.x, 0
  %v317 = add i32 %block_size.x, 0
  %v318 = mul i32 %v316, %v317
  %v319 = add i32 %thread_index.x, 0
  %v320 = add i32 %v318, %v319
  %v23 = icmp uge i32 %v320, %p3
  br i1 %v23, label %b1, label %b2
b1:
  ret void
b2:
  %v28 = zext i32 %v320 to i64
  %v615 = getelementptr inbounds i32, ptr %p0, i64 %v28
  %v30 = load float, ptr %v615, align 4, !llvm.access.group !0
  %v323 = fmul float %v30, %v30
  %v35 = fadd float %v323, 0x3FF0000000000000
  call void @llvm.memset.p0.i64(ptr align 4 %v16, i8 0, i64 16, i1 false)
  store float 0x3FF0000000000000, ptr %v16, align 4
  %v622 = getelementptr inbounds i8, ptr %v16, i64 4
  store float 0x4000000000000000, ptr %v622, align 4
  %v645 = load float, ptr @weights, align 4, !llvm.access.group !0
  %v646 = call float @llvm.fma.f32(float %v30, float %v645, float 0x3FF0000000000000)
  store float %v646, ptr %v16, align 4
  %v652 = getelementptr inbounds i32, ptr %v16, i64 1
  %v655 = getelementptr inbounds i32, ptr @weights, i64 1
  %v656 = load float, ptr %v655, align 4, !llvm.access.group !0
  %v657 = call float @llvm.fma.f32(float %v30, float %v656, float 0x4000000000000000)
  store float %v657, ptr %v652, align 4
  %v663 = getelementptr inbounds i32, ptr %v16, i64 2
  %v664 = load float, ptr %v663, align 4
  %v666 = getelementptr inbounds i32, ptr @weights, i64 2
  %v667 = load float, ptr %v666, align 4, !llvm.access.group !0
  %v668 = call float @llvm.fma.f32(float %v30, float %v667, float %v664)
  store float %v668, ptr %v663, align 4
  %v616 = getelementptr inbounds [12 x i8], ptr %p2, i64 %v28
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v18, ptr align 4 %v616, i64 12, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v78, ptr align 4 %v18, i64 12, i1 false)
  %v328 = load float, ptr %v78, align 4
  %v329 = fadd float %v328, %v35
  store float %v329, ptr %v78, align 4
  %v624 = getelementptr inbounds i8, ptr %v78, i64 4
  %v333 = load float, ptr %v624, align 4
  %v334 = fsub float %v333, %v35
  store float %v334, ptr %v624, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v76, ptr align 4 %v78, i64 12, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v18, ptr align 4 %v76, i64 12, i1 false)
  %v87 = load float, ptr %v18, align 4
  store float %v87, ptr %v616, align 4, !llvm.access.group !0
  br i1 %v9, label %b11, label %b12
b11:
  %v619 = getelementptr inbounds i8, ptr %v18, i64 4
  %v95 = load float, ptr %v619, align 4
  br label %b13
b12:
  %v620 = getelementptr inbounds i8, ptr %v18, i64 4
  %v97 = load float, ptr %v620, align 4
  %v98 = fneg float %v97
  br label %b13
b13:
  %v99 = phi float [ %v95, %b11 ], [ %v98, %b12 ]
  %v711 = getelementptr inbounds i8, ptr %v616, i64 4
  store float %v99, ptr %v711, align 4, !llvm.access.group !0
  %v712 = getelementptr inbounds i8, ptr %v616, i64 8
  %v106 = load i32, ptr %v712, align 4, !llvm.access.group !0
  %v107 = xor i32 %v106, 90
  store i32 %v107, ptr %v712, align 4, !llvm.access.group !0
  br label %b14
b14:
  %v715 = phi float [ %v35, %b13 ], [ %v120, %b19 ]
  %v111 = phi i32 [ 0, %b13 ], [ %v112, %b19 ]
  %v112 = add i32 %v111, 1
  %v114 = icmp sgt i32 %v112, 7
  br i1 %v114, label %b18, label %b20
b18:
  %v128 = fcmp olt float %v30, 0x4059000000000000
  br label %b22
b19:
  %v120 = fmul float %v715, 0x3FF8000000000000
  br label %b14
b20:
  %v117 = fcmp ogt float %v715, 0x412E848000000000
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
  %v728 = phi float [ %v715, %b27 ], [ %v715, %b29 ], [ %v715, %b30 ]
  %v719 = phi float [ %v145, %b27 ], [ %v151, %b29 ], [ 0x0000000000000000, %b30 ]
  %v166 = and i32 %v320, 1
  %v167 = icmp ne i32 %v166, 0
  %v169 = select i1 %v167, i8 3, i8 0
  %v170 = icmp eq i8 %v169, 3
  %v172 = fneg float %v719
  %v739 = select i1 %v170, float %v172, float %v719
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
  %v625 = getelementptr inbounds i32, ptr %v16, i64 %v213
  %v215 = load float, ptr %v625, align 4
  %v218 = sitofp i64 %v211 to float
  %v355 = call float @llvm.fma.f32(float %v728, float %v739, float %v218)
  %v220 = fadd float %v215, %v355
  %v361 = call float @llvm.fabs.f32(float %v728)
  %v364 = call float @llvm.sqrt.f32(float %v361)
  %v224 = fadd float %v220, %v364
  %v368 = call float @llvm.minimumnum.f32(float %v728, float %v739)
  %v228 = fadd float %v224, %v368
  %v230 = fneg float %v728
  %v232 = fmul float %v230, %v728
  %v372 = fcmp ogt float %v232, 0x4056400000000000
  %v374 = fcmp olt float %v232, 0xC05A000000000000
  %v375 = select i1 %v374, float 0xC05A000000000000, float %v232
  %v376 = select i1 %v372, float 0x4056400000000000, float %v375
  %v378 = fmul float %v376, 0x3FF7154760000000
  %v379 = call float @llvm.roundeven.f32(float %v378)
  %v381 = call float @llvm.fma.f32(float %v379, float 0xBFE62E4300000000, float %v376)
  %v383 = call float @llvm.fma.f32(float %v379, float 0x3E205C6100000000, float %v381)
  %v386 = call float @llvm.fma.f32(float 0x3F56A1A720000000, float %v383, float 0x3F8123FC60000000)
  %v388 = call float @llvm.fma.f32(float %v386, float %v383, float 0x3FA5559160000000)
  %v390 = call float @llvm.fma.f32(float %v388, float %v383, float 0x3FC55548A0000000)
  %v392 = call float @llvm.fma.f32(float %v390, float %v383, float 0x3FDFFFFFC0000000)
  %v394 = fmul float %v383, %v383
  %v395 = call float @llvm.fma.f32(float %v394, float %v392, float %v383)
  %v396 = fadd float 0x3FF0000000000000, %v395
  %v397 = call i32 @llvm.fptosi.sat.i32.f32(float %v379)
  %v399 = ashr i32 %v397, 1
  %v401 = add i32 %v399, 127
  %v403 = shl i32 %v401, 23
  %v404 = bitcast i32 %v403 to float
  %v405 = fmul float %v396, %v404
  %v406 = sub i32 %v397, %v399
  %v407 = add i32 %v406, 127
  %v408 = shl i32 %v407, 23
  %v409 = bitcast i32 %v408 to float
  %v410 = fmul float %v405, %v409
  %v234 = fadd float %v228, %v410
  %v414 = fcmp oeq float %v739, 0x0000000000000000
  br i1 %v414, label %b75, label %b80
b27:
  %v145 = fadd float %v30, 0x3FF0000000000000
  br label %b26
b28:
  %v148 = fsub float %v30, 0x3FF0000000000000
  br label %b29
b29:
  %v718 = phi float [ %v30, %b24 ], [ %v148, %b28 ]
  %v151 = fmul float %v718, 0x4000000000000000
  br label %b26
b30:
  br label %b26
b75:
  br label %b77
b77:
  %v723 = phi float [ %v739, %b75 ], [ %v724, %b79 ]
  %v722 = phi float [ %v728, %b75 ], [ %v726, %b79 ]
  %v417 = phi float [ %v739, %b75 ], [ %v416, %b79 ]
  %v237 = fadd float %v234, %v417
  %v238 = call i32 @factorial.5(i32 3)
  %v239 = sitofp i32 %v238 to float
  %v240 = fadd float %v237, %v239
  %v595 = fmul double %p5, %p5
  %v260 = fcmp ogt double %v595, 0x4000000000000000
  %v261 = select i1 %v260, i32 1, i32 0
  %v262 = sitofp i32 %v261 to float
  %v263 = fadd float %v240, %v262
  %v270 = fadd float 0x4000000000000000, %v722
  %v274 = fadd float %v263, %v270
  %v277 = fcmp olt float %v722, %v723
  %v740 = select i1 %v277, float %v722, float %v723
  %v281 = fsub float %v274, %v740
  %v300 = sext i32 %p3 to i64
  %v621 = getelementptr inbounds i32, ptr %p1, i64 %v300
  %v302 = icmp ugt ptr %v621, %p1
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
  %v626 = getelementptr inbounds i32, ptr %p1, i64 %v28
  store float %v312, ptr %v626, align 4, !llvm.access.group !0
  ret void
b79:
  %v726 = phi float [ %v728, %b81 ], [ %v728, %b85 ]
  %v724 = phi float [ %v739, %b81 ], [ %v739, %b85 ]
  %v416 = phi float [ 0x7FF8000000000000, %b81 ], [ %v477, %b85 ]
  br label %b77
b80:
  %v420 = call float @llvm.fabs.f32(float %v739)
  %v423 = fcmp olt float %v420, 0x7FF0000000000000
  br i1 %v423, label %b82, label %b81
b81:
  br label %b79
b82:
  %v431 = fcmp ogt float %v420, 0x40F0000000000000
  br i1 %v431, label %b89, label %b86
b85:
  %v466 = phi float [ %v447, %b89 ], [ %v459, %b86 ]
  %v464 = phi i32 [ %v450, %b89 ], [ %v460, %b86 ]
  %v568 = fmul float %v466, %v466
  %v571 = call float @llvm.fma.f32(float 0x3EC6CCCC80000000, float %v568, float 0xBF2A00F6A0000000)
  %v573 = call float @llvm.fma.f32(float %v571, float %v568, float 0x3F81111080000000)
  %v575 = call float @llvm.fma.f32(float %v573, float %v568, float 0xBFC5555560000000)
  %v576 = fmul float %v466, %v568
  %v577 = call float @llvm.fma.f32(float %v576, float %v575, float %v466)
  %v583 = call float @llvm.fma.f32(float 0xBE9241AB60000000, float %v568, float 0x3EFA010CC0000000)
  %v585 = call float @llvm.fma.f32(float %v583, float %v568, float 0xBF56C16B80000000)
  %v587 = call float @llvm.fma.f32(float %v585, float %v568, float 0x3FA5555560000000)
  %v588 = fmul float %v568, %v568
  %v591 = call float @llvm.fma.f32(float %v568, float 0xBFE0000000000000, float 0x3FF0000000000000)
  %v592 = call float @llvm.fma.f32(float %v588, float %v587, float %v591)
  %v470 = and i32 %v464, 1
  %v471 = icmp ne i32 %v470, 0
  %v472 = select i1 %v471, float %v592, float %v577
  %v474 = and i32 %v464, 2
  %v475 = icmp ne i32 %v474, 0
  %v476 = fneg float %v472
  %v477 = select i1 %v475, float %v476, float %v472
  br label %b79
b86:
  %v452 = fmul float %v739, 0x3FE45F3060000000
  %v453 = call float @llvm.roundeven.f32(float %v452)
  %v455 = call float @llvm.fma.f32(float %v453, float 0xBFF921FB60000000, float %v739)
  %v457 = call float @llvm.fma.f32(float %v453, float 0x3E6777A5C0000000, float %v455)
  %v459 = call float @llvm.fma.f32(float %v453, float 0x3CDEE59DA0000000, float %v457)
  %v460 = call i32 @llvm.fptosi.sat.i32.f32(float %v453)
  br label %b85
b89:
  %v479 = bitcast float %v420 to i32
  %v481 = and i32 %v479, 8388607
  %v483 = or i32 %v481, 8388608
  %v484 = sext i32 %v483 to i64
  %v486 = ashr i32 %v479, 23
  %v490 = add i32 %v486, -120
  %v492 = ashr i32 %v490, 5
  %v494 = and i32 %v490, 31
  %v497 = sext i32 %v492 to i64
  %v627 = getelementptr inbounds i32, ptr @__agpu_two_over_pi.1, i64 %v497
  %v499 = load i32, ptr %v627, align 4, !llvm.access.group !0
  %v500 = zext i32 %v499 to i64
  %v502 = shl i64 %v500, 32
  %v506 = add i32 %v492, 1
  %v507 = sext i32 %v506 to i64
  %v628 = getelementptr inbounds i32, ptr @__agpu_two_over_pi.1, i64 %v507
  %v509 = load i32, ptr %v628, align 4, !llvm.access.group !0
  %v510 = zext i32 %v509 to i64
  %v511 = or i64 %v502, %v510
  %v512 = sext i32 %v494 to i64
  %v513.c = and i64 %v512, 63
  %v513 = shl i64 %v511, %v513.c
  %v514 = lshr i64 %v513, 32
  %v522 = shl i64 %v510, 32
  %v526 = add i32 %v492, 2
  %v527 = sext i32 %v526 to i64
  %v630 = getelementptr inbounds i32, ptr @__agpu_two_over_pi.1, i64 %v527
  %v529 = load i32, ptr %v630, align 4, !llvm.access.group !0
  %v530 = zext i32 %v529 to i64
  %v531 = or i64 %v522, %v530
  %v533.c = and i64 %v512, 63
  %v533 = shl i64 %v531, %v533.c
  %v534 = lshr i64 %v533, 32
  %v542 = shl i64 %v530, 32
  %v546 = add i32 %v492, 3
  %v547 = sext i32 %v546 to i64
  %v632 = getelementptr inbounds i32, ptr @__agpu_two_over_pi.1, i64 %v547
  %v549 = load i32, ptr %v632, align 4, !llvm.access.group !0
  %v550 = zext i32 %v549 to i64
  %v551 = or i64 %v542, %v550
  %v553.c = and i64 %v512, 63
  %v553 = shl i64 %v551, %v553.c
  %v554 = lshr i64 %v553, 32
  %v555 = mul i64 %v484, %v554
  %v556 = lshr i64 %v555, 32
  %v557 = mul i64 %v484, %v534
  %v558 = add i64 %v556, %v557
  %v559 = lshr i64 %v558, 32
  %v560 = mul i64 %v484, %v514
  %v561 = add i64 %v559, %v560
  %v562 = shl i64 %v561, 32
  %v564 = and i64 %v558, 4294967295
  %v565 = or i64 %v562, %v564
  %v434 = add i64 %v565, 2305843009213693952
  %v436 = lshr i64 %v434, 62
  %v437 = shl i64 %v436, 62
  %v438 = sub i64 %v565, %v437
  %v439 = sitofp i64 %v438 to double
  %v441 = fmul double %v439, 0x3C1921FB54442D18
  %v442 = fptrunc double %v441 to float
  %v443 = trunc i64 %v436 to i32
  %v445 = fcmp olt float %v739, 0x0000000000000000
  %v446 = fneg float %v442
  %v447 = select i1 %v445, float %v446, float %v442
  %v449 = sub i32 0, %v443
  %v450 = select i1 %v445, i32 %v449, i32 %v443
  br label %b85
}

define void @language(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
entry:
  %grid_size.x.p = getelementptr inbounds i8, ptr %launch, i64 0
  %grid_size.x = load i32, ptr %grid_size.x.p, align 4
  %grid_size.y.p = getelementptr inbounds i8, ptr %launch, i64 4
  %grid_size.y = load i32, ptr %grid_size.y.p, align 4
  %grid_size.z.p = getelementptr inbounds i8, ptr %launch, i64 8
  %grid_size.z = load i32, ptr %grid_size.z.p, align 4
  %block_size.x.p = getelementptr inbounds i8, ptr %launch, i64 12
  %block_size.x = load i32, ptr %block_size.x.p, align 4
  %block_size.y.p = getelementptr inbounds i8, ptr %launch, i64 16
  %block_size.y = load i32, ptr %block_size.y.p, align 4
  %block_size.z.p = getelementptr inbounds i8, ptr %launch, i64 20
  %block_size.z = load i32, ptr %block_size.z.p, align 4
  %a0.p = getelementptr inbounds i8, ptr %arguments, i64 0
  %a0 = load ptr, ptr %a0.p, align 8
  %a1.p = getelementptr inbounds i8, ptr %arguments, i64 8
  %a1 = load ptr, ptr %a1.p, align 8
  %a2.p = getelementptr inbounds i8, ptr %arguments, i64 16
  %a2 = load ptr, ptr %a2.p, align 8
  %a3.p = getelementptr inbounds i8, ptr %arguments, i64 24
  %a3 = load i32, ptr %a3.p, align 4
  %a4.p = getelementptr inbounds i8, ptr %arguments, i64 28
  %a4 = load i8, ptr %a4.p, align 1
  %a5.p = getelementptr inbounds i8, ptr %arguments, i64 32
  %a5 = load double, ptr %a5.p, align 8
  %a6.p = getelementptr inbounds i8, ptr %arguments, i64 40
  %a6 = load i8, ptr %a6.p, align 1
  %some = icmp ult i64 %begin, %end
  br i1 %some, label %start, label %done
start:
  %grid.x64 = zext i32 %grid_size.x to i64
  %grid.y64 = zext i32 %grid_size.y to i64
  %first.x64 = urem i64 %begin, %grid.x64
  %rows = udiv i64 %begin, %grid.x64
  %first.y64 = urem i64 %rows, %grid.y64
  %first.z64 = udiv i64 %rows, %grid.y64
  %first.x = trunc i64 %first.x64 to i32
  %first.y = trunc i64 %first.y64 to i32
  %first.z = trunc i64 %first.z64 to i32
  br label %block
block:
  %linear = phi i64 [ %begin, %start ], [ %linear.next, %block.end ]
  %block_index.x = phi i32 [ %first.x, %start ], [ %block.x.next, %block.end ]
  %block_index.y = phi i32 [ %first.y, %start ], [ %block.y.next, %block.end ]
  %block_index.z = phi i32 [ %first.z, %start ], [ %block.z.next, %block.end ]
  br label %plane
plane:
  %thread_index.z = phi i32 [ 0, %block ], [ %z.next, %plane.end ]
  br label %row
row:
  %thread_index.y = phi i32 [ 0, %plane ], [ %y.next, %row.end ]
  br label %item
item:
  %thread_index.x = phi i32 [ 0, %row ], [ %x.next, %item ]
  call void @language.item(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i8 %a4, double %a5, i8 %a6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %x.next = add nuw nsw i32 %thread_index.x, 1
  %x.more = icmp ult i32 %x.next, %block_size.x
  br i1 %x.more, label %item, label %row.end, !llvm.loop !3
row.end:
  %y.next = add nuw nsw i32 %thread_index.y, 1
  %y.more = icmp ult i32 %y.next, %block_size.y
  br i1 %y.more, label %row, label %plane.end
plane.end:
  %z.next = add nuw nsw i32 %thread_index.z, 1
  %z.more = icmp ult i32 %z.next, %block_size.z
  br i1 %z.more, label %plane, label %block.end
block.end:
  %linear.next = add nuw i64 %linear, 1
  %block.x.plus = add nuw i32 %block_index.x, 1
  %x.wraps = icmp eq i32 %block.x.plus, %grid_size.x
  %block.x.next = select i1 %x.wraps, i32 0, i32 %block.x.plus
  %carry.y = zext i1 %x.wraps to i32
  %block.y.plus = add nuw i32 %block_index.y, %carry.y
  %y.wraps = icmp eq i32 %block.y.plus, %grid_size.y
  %block.y.next = select i1 %y.wraps, i32 0, i32 %block.y.plus
  %carry.z = zext i1 %y.wraps to i32
  %block.z.next = add nuw i32 %block_index.z, %carry.z
  %more = icmp ult i64 %linear.next, %end
  br i1 %more, label %block, label %done
done:
  ret void
}

!3 = distinct !{!3, !4}
!4 = !{!"llvm.loop.parallel_accesses", !0}

declare float @llvm.fabs.f32(float) #1
declare float @llvm.fma.f32(float, float, float) #1
declare float @llvm.minimumnum.f32(float, float) #1
declare float @llvm.roundeven.f32(float) #1
declare float @llvm.sqrt.f32(float) #1
declare i32 @llvm.ctpop.i32(i32) #1
declare i32 @llvm.fptosi.sat.i32.f32(float) #1
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
