source_filename = "unrolling.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal void @unrolling.lanes(ptr %p0, i32 %p1, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %active) alwaysinline #0 {
entry:
  %ps542 = alloca float, align 64
  %ps543 = alloca i32, align 64
  %ps104 = alloca float, align 64
  %ps101 = alloca i32, align 64
  %ps610 = alloca float, align 64
  %ps611 = alloca i32, align 64
  %ps31 = alloca float, align 64
  %ps28 = alloca i32, align 64
  %ps42 = alloca float, align 64
  %ps40 = alloca i32, align 64
  %ps52 = alloca i32, align 64
  %ps50 = alloca float, align 64
  %ps63 = alloca float, align 64
  %ps75 = alloca float, align 64
  %ps72 = alloca i32, align 64
  %ps654 = alloca float, align 64
  %ps655 = alloca i32, align 64
  %ps86 = alloca float, align 64
  %ps83 = alloca i32, align 64
  br label %b0
b0:
  %v545 = sext i32 %p1 to i64
  %v548 = sub i64 %v545, 6
  %v550 = icmp sge i64 %v548, -2147483648
  %v551 = trunc i64 %v548 to i32
  %v553 = select i1 %v550, i32 %v551, i32 -2147483648
  store float 0x0000000000000000, ptr %ps542, align 64
  store i32 0, ptr %ps543, align 64
  br label %b132
b132:
  %v542 = load float, ptr %ps542, align 64
  %v543 = load i32, ptr %ps543, align 64
  %v544 = sext i32 %v543 to i64
  %v554 = icmp slt i32 %v543, %v553
  br i1 %v554, label %e132.0, label %e132.1
e132.0:
  br label %b133
e132.1:
  br label %b131
b133:
  %v555 = icmp slt i32 %v543, %p1
  br label %b134
b134:
  %v556 = mul i32 %v543, %p1
  %v557 = sext i32 %v556 to i64
  %v558 = getelementptr inbounds i32, ptr %p0, i64 %v557
  %v559 = load float, ptr %v558, align 4, !llvm.access.group !0
  %v560 = fadd float %v542, %v559
  %v561 = add i32 %v543, 1
  br label %b135
b135:
  %v562 = add i64 %v544, 1
  %v563 = icmp slt i32 %v561, %p1
  br label %b136
b136:
  %v564 = mul i32 %v561, %p1
  %v565 = sext i32 %v564 to i64
  %v566 = getelementptr inbounds i32, ptr %p0, i64 %v565
  %v567 = load float, ptr %v566, align 4, !llvm.access.group !0
  %v568 = fadd float %v560, %v567
  %v569 = add i32 %v561, 1
  br label %b137
b137:
  %v570 = add i64 %v562, 1
  %v571 = icmp slt i32 %v569, %p1
  br label %b138
b138:
  %v572 = mul i32 %v569, %p1
  %v573 = sext i32 %v572 to i64
  %v574 = getelementptr inbounds i32, ptr %p0, i64 %v573
  %v575 = load float, ptr %v574, align 4, !llvm.access.group !0
  %v576 = fadd float %v568, %v575
  %v577 = add i32 %v569, 1
  br label %b139
b139:
  %v578 = add i64 %v570, 1
  %v579 = icmp slt i32 %v577, %p1
  br label %b140
b140:
  %v580 = mul i32 %v577, %p1
  %v581 = sext i32 %v580 to i64
  %v582 = getelementptr inbounds i32, ptr %p0, i64 %v581
  %v583 = load float, ptr %v582, align 4, !llvm.access.group !0
  %v584 = fadd float %v576, %v583
  %v585 = add i32 %v577, 1
  br label %b141
b141:
  %v586 = add i64 %v578, 1
  %v587 = icmp slt i32 %v585, %p1
  br label %b142
b142:
  %v588 = mul i32 %v585, %p1
  %v589 = sext i32 %v588 to i64
  %v590 = getelementptr inbounds i32, ptr %p0, i64 %v589
  %v591 = load float, ptr %v590, align 4, !llvm.access.group !0
  %v592 = fadd float %v584, %v591
  %v593 = add i32 %v585, 1
  br label %b143
b143:
  %v594 = add i64 %v586, 1
  %v595 = icmp slt i32 %v593, %p1
  br label %b144
b144:
  %v596 = mul i32 %v593, %p1
  %v597 = sext i32 %v596 to i64
  %v598 = getelementptr inbounds i32, ptr %p0, i64 %v597
  %v599 = load float, ptr %v598, align 4, !llvm.access.group !0
  %v600 = fadd float %v592, %v599
  %v601 = add i32 %v593, 1
  br label %b145
b145:
  %v602 = add i64 %v594, 1
  %v603 = icmp slt i32 %v601, %p1
  br label %b146
b146:
  %v604 = mul i32 %v601, %p1
  %v605 = sext i32 %v604 to i64
  %v606 = getelementptr inbounds i32, ptr %p0, i64 %v605
  %v607 = load float, ptr %v606, align 4, !llvm.access.group !0
  %v608 = fadd float %v600, %v607
  %v609 = add i32 %v601, 1
  store float %v608, ptr %ps542, align 64
  store i32 %v609, ptr %ps543, align 64
  br label %l9
l9:
  br label %b132
b131:
  store float %v542, ptr %ps104, align 64
  store i32 %v543, ptr %ps101, align 64
  br label %b34
b34:
  %v104 = load float, ptr %ps104, align 64
  %v101 = load i32, ptr %ps101, align 64
  %v103 = icmp slt i32 %v101, %p1
  br i1 %v103, label %e34.0, label %e34.1
e34.0:
  br label %b35
e34.1:
  br label %b40
b35:
  %v106 = mul i32 %v101, %p1
  %v107 = sext i32 %v106 to i64
  %v121 = getelementptr inbounds i32, ptr %p0, i64 %v107
  %v109 = load float, ptr %v121, align 4, !llvm.access.group !0
  %v110 = fadd float %v104, %v109
  %v112 = add i32 %v101, 1
  store float %v110, ptr %ps104, align 64
  store i32 %v112, ptr %ps101, align 64
  br label %l1
l1:
  br label %b34
b40:
  %v125 = load float, ptr %p0, align 4, !llvm.access.group !0
  %v126 = fadd float %v104, %v125
  %v130 = getelementptr inbounds i32, ptr %p0, i64 1
  %v131 = load float, ptr %v130, align 4, !llvm.access.group !0
  %v132 = fadd float %v126, %v131
  %v136 = getelementptr inbounds i32, ptr %p0, i64 2
  %v137 = load float, ptr %v136, align 4, !llvm.access.group !0
  %v138 = fadd float %v132, %v137
  %v142 = getelementptr inbounds i32, ptr %p0, i64 3
  %v143 = load float, ptr %v142, align 4, !llvm.access.group !0
  %v144 = fadd float %v138, %v143
  %v148 = getelementptr inbounds i32, ptr %p0, i64 4
  %v149 = load float, ptr %v148, align 4, !llvm.access.group !0
  %v150 = fadd float %v144, %v149
  %v154 = getelementptr inbounds i32, ptr %p0, i64 5
  %v155 = load float, ptr %v154, align 4, !llvm.access.group !0
  %v156 = fadd float %v150, %v155
  %v160 = getelementptr inbounds i32, ptr %p0, i64 6
  %v161 = load float, ptr %v160, align 4, !llvm.access.group !0
  %v162 = fadd float %v156, %v161
  %v166 = getelementptr inbounds i32, ptr %p0, i64 7
  %v167 = load float, ptr %v166, align 4, !llvm.access.group !0
  %v168 = fadd float %v162, %v167
  %v172 = getelementptr inbounds i32, ptr %p0, i64 8
  %v173 = load float, ptr %v172, align 4, !llvm.access.group !0
  %v174 = fadd float %v168, %v173
  %v178 = getelementptr inbounds i32, ptr %p0, i64 9
  %v179 = load float, ptr %v178, align 4, !llvm.access.group !0
  %v180 = fadd float %v174, %v179
  %v184 = getelementptr inbounds i32, ptr %p0, i64 10
  %v185 = load float, ptr %v184, align 4, !llvm.access.group !0
  %v186 = fadd float %v180, %v185
  %v190 = getelementptr inbounds i32, ptr %p0, i64 11
  %v191 = load float, ptr %v190, align 4, !llvm.access.group !0
  %v192 = fadd float %v186, %v191
  %v196 = getelementptr inbounds i32, ptr %p0, i64 12
  %v197 = load float, ptr %v196, align 4, !llvm.access.group !0
  %v198 = fadd float %v192, %v197
  %v202 = getelementptr inbounds i32, ptr %p0, i64 13
  %v203 = load float, ptr %v202, align 4, !llvm.access.group !0
  %v204 = fadd float %v198, %v203
  %v208 = getelementptr inbounds i32, ptr %p0, i64 14
  %v209 = load float, ptr %v208, align 4, !llvm.access.group !0
  %v210 = fadd float %v204, %v209
  %v214 = getelementptr inbounds i32, ptr %p0, i64 15
  %v215 = load float, ptr %v214, align 4, !llvm.access.group !0
  %v216 = fadd float %v210, %v215
  %v220 = getelementptr inbounds i32, ptr %p0, i64 16
  %v221 = load float, ptr %v220, align 4, !llvm.access.group !0
  %v222 = fadd float %v216, %v221
  %v226 = getelementptr inbounds i32, ptr %p0, i64 17
  %v227 = load float, ptr %v226, align 4, !llvm.access.group !0
  %v228 = fadd float %v222, %v227
  %v232 = getelementptr inbounds i32, ptr %p0, i64 18
  %v233 = load float, ptr %v232, align 4, !llvm.access.group !0
  %v234 = fadd float %v228, %v233
  %v238 = getelementptr inbounds i32, ptr %p0, i64 19
  %v239 = load float, ptr %v238, align 4, !llvm.access.group !0
  %v240 = fadd float %v234, %v239
  %v244 = getelementptr inbounds i32, ptr %p0, i64 20
  %v245 = load float, ptr %v244, align 4, !llvm.access.group !0
  %v246 = fadd float %v240, %v245
  %v250 = getelementptr inbounds i32, ptr %p0, i64 21
  %v251 = load float, ptr %v250, align 4, !llvm.access.group !0
  %v252 = fadd float %v246, %v251
  %v256 = getelementptr inbounds i32, ptr %p0, i64 22
  %v257 = load float, ptr %v256, align 4, !llvm.access.group !0
  %v258 = fadd float %v252, %v257
  %v262 = getelementptr inbounds i32, ptr %p0, i64 23
  %v263 = load float, ptr %v262, align 4, !llvm.access.group !0
  %v264 = fadd float %v258, %v263
  %v268 = getelementptr inbounds i32, ptr %p0, i64 24
  %v269 = load float, ptr %v268, align 4, !llvm.access.group !0
  %v270 = fadd float %v264, %v269
  %v274 = getelementptr inbounds i32, ptr %p0, i64 25
  %v275 = load float, ptr %v274, align 4, !llvm.access.group !0
  %v276 = fadd float %v270, %v275
  %v280 = getelementptr inbounds i32, ptr %p0, i64 26
  %v281 = load float, ptr %v280, align 4, !llvm.access.group !0
  %v282 = fadd float %v276, %v281
  %v286 = getelementptr inbounds i32, ptr %p0, i64 27
  %v287 = load float, ptr %v286, align 4, !llvm.access.group !0
  %v288 = fadd float %v282, %v287
  %v292 = getelementptr inbounds i32, ptr %p0, i64 28
  %v293 = load float, ptr %v292, align 4, !llvm.access.group !0
  %v294 = fadd float %v288, %v293
  %v298 = getelementptr inbounds i32, ptr %p0, i64 29
  %v299 = load float, ptr %v298, align 4, !llvm.access.group !0
  %v300 = fadd float %v294, %v299
  %v304 = getelementptr inbounds i32, ptr %p0, i64 30
  %v305 = load float, ptr %v304, align 4, !llvm.access.group !0
  %v306 = fadd float %v300, %v305
  %v310 = getelementptr inbounds i32, ptr %p0, i64 31
  %v311 = load float, ptr %v310, align 4, !llvm.access.group !0
  %v312 = fadd float %v306, %v311
  %v316 = getelementptr inbounds i32, ptr %p0, i64 32
  %v317 = load float, ptr %v316, align 4, !llvm.access.group !0
  %v318 = fadd float %v312, %v317
  %v322 = getelementptr inbounds i32, ptr %p0, i64 33
  %v323 = load float, ptr %v322, align 4, !llvm.access.group !0
  %v324 = fadd float %v318, %v323
  %v328 = getelementptr inbounds i32, ptr %p0, i64 34
  %v329 = load float, ptr %v328, align 4, !llvm.access.group !0
  %v330 = fadd float %v324, %v329
  %v334 = getelementptr inbounds i32, ptr %p0, i64 35
  %v335 = load float, ptr %v334, align 4, !llvm.access.group !0
  %v336 = fadd float %v330, %v335
  %v340 = getelementptr inbounds i32, ptr %p0, i64 36
  %v341 = load float, ptr %v340, align 4, !llvm.access.group !0
  %v342 = fadd float %v336, %v341
  %v346 = getelementptr inbounds i32, ptr %p0, i64 37
  %v347 = load float, ptr %v346, align 4, !llvm.access.group !0
  %v348 = fadd float %v342, %v347
  %v352 = getelementptr inbounds i32, ptr %p0, i64 38
  %v353 = load float, ptr %v352, align 4, !llvm.access.group !0
  %v354 = fadd float %v348, %v353
  %v358 = getelementptr inbounds i32, ptr %p0, i64 39
  %v359 = load float, ptr %v358, align 4, !llvm.access.group !0
  %v360 = fadd float %v354, %v359
  %v373 = fadd float %v360, %v125
  %v380 = fadd float %v373, %v137
  %v387 = fadd float %v380, %v149
  %v394 = fadd float %v387, %v161
  %v613 = sext i32 12 to i64
  %v616 = sub i64 %v613, 3
  %v618 = icmp sge i64 %v616, -2147483648
  %v619 = trunc i64 %v616 to i32
  %v621 = select i1 %v618, i32 %v619, i32 -2147483648
  store float %v394, ptr %ps610, align 64
  store i32 0, ptr %ps611, align 64
  br label %b148
b148:
  %v610 = load float, ptr %ps610, align 64
  %v611 = load i32, ptr %ps611, align 64
  %v612 = sext i32 %v611 to i64
  %v622 = icmp slt i32 %v611, %v621
  br i1 %v622, label %e148.0, label %e148.1
e148.0:
  br label %b149
e148.1:
  br label %b147
b149:
  %v623 = icmp slt i32 %v611, 12
  br label %b150
b150:
  %v624 = mul i32 %v611, 3
  %v625 = sext i32 %v624 to i64
  %v626 = getelementptr inbounds i32, ptr %p0, i64 %v625
  %v627 = load float, ptr %v626, align 4, !llvm.access.group !0
  %v628 = fadd float %v610, %v627
  %v629 = add i32 %v611, 1
  br label %b151
b151:
  %v630 = add i64 %v612, 1
  %v631 = icmp slt i32 %v629, 12
  br label %b152
b152:
  %v632 = mul i32 %v629, 3
  %v633 = sext i32 %v632 to i64
  %v634 = getelementptr inbounds i32, ptr %p0, i64 %v633
  %v635 = load float, ptr %v634, align 4, !llvm.access.group !0
  %v636 = fadd float %v628, %v635
  %v637 = add i32 %v629, 1
  br label %b153
b153:
  %v638 = add i64 %v630, 1
  %v639 = icmp slt i32 %v637, 12
  br label %b154
b154:
  %v640 = mul i32 %v637, 3
  %v641 = sext i32 %v640 to i64
  %v642 = getelementptr inbounds i32, ptr %p0, i64 %v641
  %v643 = load float, ptr %v642, align 4, !llvm.access.group !0
  %v644 = fadd float %v636, %v643
  %v645 = add i32 %v637, 1
  br label %b155
b155:
  %v646 = add i64 %v638, 1
  %v647 = icmp slt i32 %v645, 12
  br label %b156
b156:
  %v648 = mul i32 %v645, 3
  %v649 = sext i32 %v648 to i64
  %v650 = getelementptr inbounds i32, ptr %p0, i64 %v649
  %v651 = load float, ptr %v650, align 4, !llvm.access.group !0
  %v652 = fadd float %v644, %v651
  %v653 = add i32 %v645, 1
  store float %v652, ptr %ps610, align 64
  store i32 %v653, ptr %ps611, align 64
  br label %l8
l8:
  br label %b148
b147:
  store float %v610, ptr %ps31, align 64
  store i32 %v611, ptr %ps28, align 64
  br label %b9
b9:
  %v31 = load float, ptr %ps31, align 64
  %v28 = load i32, ptr %ps28, align 64
  %v30 = icmp slt i32 %v28, 12
  br i1 %v30, label %e9.0, label %e9.1
e9.0:
  br label %b10
e9.1:
  br label %b12
b10:
  %v34 = mul i32 %v28, 3
  %v35 = sext i32 %v34 to i64
  %v115 = getelementptr inbounds i32, ptr %p0, i64 %v35
  %v37 = load float, ptr %v115, align 4, !llvm.access.group !0
  %v38 = fadd float %v31, %v37
  %v39 = add i32 %v28, 1
  store float %v38, ptr %ps31, align 64
  store i32 %v39, ptr %ps28, align 64
  br label %l2
l2:
  br label %b9
b12:
  store float %v31, ptr %ps42, align 64
  store i32 0, ptr %ps40, align 64
  br label %b13
b13:
  %v42 = load float, ptr %ps42, align 64
  %v40 = load i32, ptr %ps40, align 64
  %v41 = icmp slt i32 %v40, 4
  br i1 %v41, label %e13.0, label %e13.1
e13.0:
  br label %b14
e13.1:
  br label %b16
b14:
  %v44 = mul i32 %v40, 4
  %v45 = sext i32 %v44 to i64
  %v116 = getelementptr inbounds i32, ptr %p0, i64 %v45
  %v47 = load float, ptr %v116, align 4, !llvm.access.group !0
  %v48 = fadd float %v42, %v47
  %v49 = add i32 %v40, 1
  store float %v48, ptr %ps42, align 64
  store i32 %v49, ptr %ps40, align 64
  br label %l3
l3:
  br label %b13
b16:
  store i32 %p1, ptr %ps52, align 64
  store float %v42, ptr %ps50, align 64
  br label %b17
b17:
  %v52 = load i32, ptr %ps52, align 64
  %v50 = load float, ptr %ps50, align 64
  %v53 = sext i32 %v52 to i64
  %v117 = getelementptr inbounds i32, ptr %p0, i64 %v53
  %v55 = load float, ptr %v117, align 4, !llvm.access.group !0
  %v56 = fadd float %v50, %v55
  %v57 = add i32 %v52, -1
  %v58 = icmp sgt i32 %v57, 0
  br i1 %v58, label %e17.0, label %e17.1
e17.0:
  store i32 %v57, ptr %ps52, align 64
  store float %v56, ptr %ps50, align 64
  br label %l0
e17.1:
  br label %b19
l0:
  br label %b17
b19:
  store float %v56, ptr %ps63, align 64
  br label %b20
b20:
  %v63 = load float, ptr %ps63, align 64
  %v65 = fcmp olt float %v63, 0x4008000000000000
  br i1 %v65, label %e20.0, label %e20.1
e20.0:
  br label %b21
e20.1:
  br label %b23
b21:
  %v67 = call i32 @llvm.fptosi.sat.i32.f32(float %v63)
  %v68 = sext i32 %v67 to i64
  %v118 = getelementptr inbounds i32, ptr %p0, i64 %v68
  %v70 = load float, ptr %v118, align 4, !llvm.access.group !0
  %v71 = fadd float %v63, %v70
  store float %v71, ptr %ps63, align 64
  br label %l4
l4:
  br label %b20
b23:
  store float %v63, ptr %ps75, align 64
  store i32 0, ptr %ps72, align 64
  br label %b24
b24:
  %v75 = load float, ptr %ps75, align 64
  %v72 = load i32, ptr %ps72, align 64
  %v74 = icmp slt i32 %v72, %v57
  br i1 %v74, label %e24.0, label %e24.1
e24.0:
  br label %b25
e24.1:
  br label %b27
b25:
  %v77 = sext i32 %v72 to i64
  %v119 = getelementptr inbounds i32, ptr %p0, i64 %v77
  %v79 = load float, ptr %v119, align 4, !llvm.access.group !0
  %v80 = fmul float %v75, %v79
  %v81 = add i32 %v72, 1
  store float %v80, ptr %ps75, align 64
  store i32 %v81, ptr %ps72, align 64
  br label %l5
l5:
  br label %b24
b27:
  %v657 = sext i32 %v57 to i64
  %v660 = sub i64 %v657, 2
  %v662 = icmp sge i64 %v660, -2147483648
  %v663 = trunc i64 %v660 to i32
  %v665 = select i1 %v662, i32 %v663, i32 -2147483648
  store float %v75, ptr %ps654, align 64
  store i32 0, ptr %ps655, align 64
  br label %b158
b158:
  %v654 = load float, ptr %ps654, align 64
  %v655 = load i32, ptr %ps655, align 64
  %v656 = sext i32 %v655 to i64
  %v666 = icmp slt i32 %v655, %v665
  br i1 %v666, label %e158.0, label %e158.1
e158.0:
  br label %b159
e158.1:
  br label %b157
b159:
  %v667 = icmp slt i32 %v655, %v57
  br label %b160
b160:
  %v668 = mul i32 %v655, 2
  %v669 = sext i32 %v668 to i64
  %v670 = getelementptr inbounds i32, ptr %p0, i64 %v669
  %v671 = load float, ptr %v670, align 4, !llvm.access.group !0
  %v672 = fsub float %v654, %v671
  %v673 = add i32 %v655, 1
  br label %b161
b161:
  %v674 = add i64 %v656, 1
  %v675 = icmp slt i32 %v673, %v57
  br label %b162
b162:
  %v676 = mul i32 %v673, 2
  %v677 = sext i32 %v676 to i64
  %v678 = getelementptr inbounds i32, ptr %p0, i64 %v677
  %v679 = load float, ptr %v678, align 4, !llvm.access.group !0
  %v680 = fsub float %v672, %v679
  %v681 = add i32 %v673, 1
  br label %b163
b163:
  %v682 = add i64 %v674, 1
  %v683 = icmp slt i32 %v681, %v57
  br label %b164
b164:
  %v684 = mul i32 %v681, 2
  %v685 = sext i32 %v684 to i64
  %v686 = getelementptr inbounds i32, ptr %p0, i64 %v685
  %v687 = load float, ptr %v686, align 4, !llvm.access.group !0
  %v688 = fsub float %v680, %v687
  %v689 = add i32 %v681, 1
  store float %v688, ptr %ps654, align 64
  store i32 %v689, ptr %ps655, align 64
  br label %l7
l7:
  br label %b158
b157:
  store float %v654, ptr %ps86, align 64
  store i32 %v655, ptr %ps83, align 64
  br label %b28
b28:
  %v86 = load float, ptr %ps86, align 64
  %v83 = load i32, ptr %ps83, align 64
  %v85 = icmp slt i32 %v83, %v57
  br i1 %v85, label %e28.0, label %e28.1
e28.0:
  br label %b29
e28.1:
  br label %b31
b29:
  %v88 = mul i32 %v83, 2
  %v89 = sext i32 %v88 to i64
  %v120 = getelementptr inbounds i32, ptr %p0, i64 %v89
  %v91 = load float, ptr %v120, align 4, !llvm.access.group !0
  %v92 = fsub float %v86, %v91
  %v93 = add i32 %v83, 1
  store float %v92, ptr %ps86, align 64
  store i32 %v93, ptr %ps83, align 64
  br label %l6
l6:
  br label %b28
b31:
  store float %v86, ptr %p0, align 4
  br label %end
end:
  ret void
}

define void @unrolling(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
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
  %a1 = load i32, ptr %a1.p, align 4
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
  %item.space = sub nuw i32 %block_size.x, %thread_index.x
  %item.space.one = insertelement <8 x i32> poison, i32 %item.space, i64 0
  %item.space.all = shufflevector <8 x i32> %item.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %item.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %item.space.all
  call void @unrolling.lanes(ptr %a0, i32 %a1, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %item.active)
  %x.next = add nuw nsw i32 %thread_index.x, 8
  %x.more = icmp ult i32 %x.next, %block_size.x
  br i1 %x.more, label %item, label %row.end
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

declare i32 @llvm.fptosi.sat.i32.f32(float) #1
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
