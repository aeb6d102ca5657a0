source_filename = "unrolling.hip"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @unrolling(ptr addrspace(1) %p0, i32 %p1) #0 {
b0:
  %v545 = sext i32 %p1 to i64
  %v548 = sub i64 %v545, 6
  %v550 = icmp sge i64 %v548, -2147483648
  %v551 = trunc i64 %v548 to i32
  %v553 = select i1 %v550, i32 %v551, i32 -2147483648
  br label %b132
b9:
  %v31 = phi float [ %v610, %b147 ], [ %v38, %b10 ]
  %v28 = phi i32 [ %v611, %b147 ], [ %v39, %b10 ]
  %v30 = icmp slt i32 %v28, 12
  br i1 %v30, label %b10, label %b12
b10:
  %v34 = mul i32 %v28, 3
  %v35 = sext i32 %v34 to i64
  %v115 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v35
  %v37 = load float, ptr addrspace(1) %v115, align 4
  %v38 = fadd float %v31, %v37
  %v39 = add i32 %v28, 1
  br label %b9, !llvm.loop !5
b12:
  br label %b13
b13:
  %v42 = phi float [ %v31, %b12 ], [ %v48, %b14 ]
  %v40 = phi i32 [ 0, %b12 ], [ %v49, %b14 ]
  %v41 = icmp slt i32 %v40, 4
  br i1 %v41, label %b14, label %b16
b14:
  %v44 = mul i32 %v40, 4
  %v45 = sext i32 %v44 to i64
  %v116 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v45
  %v47 = load float, ptr addrspace(1) %v116, align 4
  %v48 = fadd float %v42, %v47
  %v49 = add i32 %v40, 1
  br label %b13, !llvm.loop !6
b16:
  br label %b17
b17:
  %v52 = phi i32 [ %p1, %b16 ], [ %v57, %b17 ]
  %v50 = phi float [ %v42, %b16 ], [ %v56, %b17 ]
  %v53 = sext i32 %v52 to i64
  %v117 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v53
  %v55 = load float, ptr addrspace(1) %v117, align 4
  %v56 = fadd float %v50, %v55
  %v57 = add i32 %v52, -1
  %v58 = icmp sgt i32 %v57, 0
  br i1 %v58, label %b17, label %b19, !llvm.loop !3
b19:
  br label %b20
b20:
  %v63 = phi float [ %v56, %b19 ], [ %v71, %b21 ]
  %v65 = fcmp olt float %v63, 0x4008000000000000
  br i1 %v65, label %b21, label %b23
b21:
  %v67 = call i32 @llvm.fptosi.sat.i32.f32(float %v63)
  %v68 = sext i32 %v67 to i64
  %v118 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v68
  %v70 = load float, ptr addrspace(1) %v118, align 4
  %v71 = fadd float %v63, %v70
  br label %b20, !llvm.loop !7
b23:
  br label %b24
b24:
  %v75 = phi float [ %v63, %b23 ], [ %v80, %b25 ]
  %v72 = phi i32 [ 0, %b23 ], [ %v81, %b25 ]
  %v74 = icmp slt i32 %v72, %v57
  br i1 %v74, label %b25, label %b27
b25:
  %v77 = sext i32 %v72 to i64
  %v119 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v77
  %v79 = load float, ptr addrspace(1) %v119, align 4
  %v80 = fmul float %v75, %v79
  %v81 = add i32 %v72, 1
  br label %b24, !llvm.loop !8
b27:
  %v657 = sext i32 %v57 to i64
  %v660 = sub i64 %v657, 2
  %v662 = icmp sge i64 %v660, -2147483648
  %v663 = trunc i64 %v660 to i32
  %v665 = select i1 %v662, i32 %v663, i32 -2147483648
  br label %b158
b28:
  %v86 = phi float [ %v654, %b157 ], [ %v92, %b29 ]
  %v83 = phi i32 [ %v655, %b157 ], [ %v93, %b29 ]
  %v85 = icmp slt i32 %v83, %v57
  br i1 %v85, label %b29, label %b31
b29:
  %v88 = mul i32 %v83, 2
  %v89 = sext i32 %v88 to i64
  %v120 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v89
  %v91 = load float, ptr addrspace(1) %v120, align 4
  %v92 = fsub float %v86, %v91
  %v93 = add i32 %v83, 1
  br label %b28, !llvm.loop !9
b31:
  store float %v86, ptr addrspace(1) %p0, align 4
  ret void
b34:
  %v104 = phi float [ %v542, %b131 ], [ %v110, %b35 ]
  %v101 = phi i32 [ %v543, %b131 ], [ %v112, %b35 ]
  %v103 = icmp slt i32 %v101, %p1
  br i1 %v103, label %b35, label %b40
b35:
  %v106 = mul i32 %v101, %p1
  %v107 = sext i32 %v106 to i64
  %v121 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v107
  %v109 = load float, ptr addrspace(1) %v121, align 4
  %v110 = fadd float %v104, %v109
  %v112 = add i32 %v101, 1
  br label %b34, !llvm.loop !4
b40:
  %v125 = load float, ptr addrspace(1) %p0, align 4
  %v126 = fadd float %v104, %v125
  %v130 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 1
  %v131 = load float, ptr addrspace(1) %v130, align 4
  %v132 = fadd float %v126, %v131
  %v136 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 2
  %v137 = load float, ptr addrspace(1) %v136, align 4
  %v138 = fadd float %v132, %v137
  %v142 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 3
  %v143 = load float, ptr addrspace(1) %v142, align 4
  %v144 = fadd float %v138, %v143
  %v148 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 4
  %v149 = load float, ptr addrspace(1) %v148, align 4
  %v150 = fadd float %v144, %v149
  %v154 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 5
  %v155 = load float, ptr addrspace(1) %v154, align 4
  %v156 = fadd float %v150, %v155
  %v160 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 6
  %v161 = load float, ptr addrspace(1) %v160, align 4
  %v162 = fadd float %v156, %v161
  %v166 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 7
  %v167 = load float, ptr addrspace(1) %v166, align 4
  %v168 = fadd float %v162, %v167
  %v172 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 8
  %v173 = load float, ptr addrspace(1) %v172, align 4
  %v174 = fadd float %v168, %v173
  %v178 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 9
  %v179 = load float, ptr addrspace(1) %v178, align 4
  %v180 = fadd float %v174, %v179
  %v184 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 10
  %v185 = load float, ptr addrspace(1) %v184, align 4
  %v186 = fadd float %v180, %v185
  %v190 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 11
  %v191 = load float, ptr addrspace(1) %v190, align 4
  %v192 = fadd float %v186, %v191
  %v196 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 12
  %v197 = load float, ptr addrspace(1) %v196, align 4
  %v198 = fadd float %v192, %v197
  %v202 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 13
  %v203 = load float, ptr addrspace(1) %v202, align 4
  %v204 = fadd float %v198, %v203
  %v208 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 14
  %v209 = load float, ptr addrspace(1) %v208, align 4
  %v210 = fadd float %v204, %v209
  %v214 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 15
  %v215 = load float, ptr addrspace(1) %v214, align 4
  %v216 = fadd float %v210, %v215
  %v220 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 16
  %v221 = load float, ptr addrspace(1) %v220, align 4
  %v222 = fadd float %v216, %v221
  %v226 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 17
  %v227 = load float, ptr addrspace(1) %v226, align 4
  %v228 = fadd float %v222, %v227
  %v232 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 18
  %v233 = load float, ptr addrspace(1) %v232, align 4
  %v234 = fadd float %v228, %v233
  %v238 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 19
  %v239 = load float, ptr addrspace(1) %v238, align 4
  %v240 = fadd float %v234, %v239
  %v244 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 20
  %v245 = load float, ptr addrspace(1) %v244, align 4
  %v246 = fadd float %v240, %v245
  %v250 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 21
  %v251 = load float, ptr addrspace(1) %v250, align 4
  %v252 = fadd float %v246, %v251
  %v256 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 22
  %v257 = load float, ptr addrspace(1) %v256, align 4
  %v258 = fadd float %v252, %v257
  %v262 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 23
  %v263 = load float, ptr addrspace(1) %v262, align 4
  %v264 = fadd float %v258, %v263
  %v268 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 24
  %v269 = load float, ptr addrspace(1) %v268, align 4
  %v270 = fadd float %v264, %v269
  %v274 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 25
  %v275 = load float, ptr addrspace(1) %v274, align 4
  %v276 = fadd float %v270, %v275
  %v280 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 26
  %v281 = load float, ptr addrspace(1) %v280, align 4
  %v282 = fadd float %v276, %v281
  %v286 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 27
  %v287 = load float, ptr addrspace(1) %v286, align 4
  %v288 = fadd float %v282, %v287
  %v292 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 28
  %v293 = load float, ptr addrspace(1) %v292, align 4
  %v294 = fadd float %v288, %v293
  %v298 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 29
  %v299 = load float, ptr addrspace(1) %v298, align 4
  %v300 = fadd float %v294, %v299
  %v304 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 30
  %v305 = load float, ptr addrspace(1) %v304, align 4
  %v306 = fadd float %v300, %v305
  %v310 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 31
  %v311 = load float, ptr addrspace(1) %v310, align 4
  %v312 = fadd float %v306, %v311
  %v316 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 32
  %v317 = load float, ptr addrspace(1) %v316, align 4
  %v318 = fadd float %v312, %v317
  %v322 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 33
  %v323 = load float, ptr addrspace(1) %v322, align 4
  %v324 = fadd float %v318, %v323
  %v328 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 34
  %v329 = load float, ptr addrspace(1) %v328, align 4
  %v330 = fadd float %v324, %v329
  %v334 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 35
  %v335 = load float, ptr addrspace(1) %v334, align 4
  %v336 = fadd float %v330, %v335
  %v340 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 36
  %v341 = load float, ptr addrspace(1) %v340, align 4
  %v342 = fadd float %v336, %v341
  %v346 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 37
  %v347 = load float, ptr addrspace(1) %v346, align 4
  %v348 = fadd float %v342, %v347
  %v352 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 38
  %v353 = load float, ptr addrspace(1) %v352, align 4
  %v354 = fadd float %v348, %v353
  %v358 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 39
  %v359 = load float, ptr addrspace(1) %v358, align 4
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
  br label %b148
b131:
  br label %b34
b132:
  %v542 = phi float [ 0x0000000000000000, %b0 ], [ %v608, %b146 ]
  %v543 = phi i32 [ 0, %b0 ], [ %v609, %b146 ]
  %v544 = sext i32 %v543 to i64
  %v554 = icmp slt i32 %v543, %v553
  br i1 %v554, label %b133, label %b131
b133:
  %v555 = icmp slt i32 %v543, %p1
  br label %b134
b134:
  %v556 = mul i32 %v543, %p1
  %v557 = sext i32 %v556 to i64
  %v558 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v557
  %v559 = load float, ptr addrspace(1) %v558, align 4
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
  %v566 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v565
  %v567 = load float, ptr addrspace(1) %v566, align 4
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
  %v574 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v573
  %v575 = load float, ptr addrspace(1) %v574, align 4
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
  %v582 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v581
  %v583 = load float, ptr addrspace(1) %v582, align 4
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
  %v590 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v589
  %v591 = load float, ptr addrspace(1) %v590, align 4
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
  %v598 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v597
  %v599 = load float, ptr addrspace(1) %v598, align 4
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
  %v606 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v605
  %v607 = load float, ptr addrspace(1) %v606, align 4
  %v608 = fadd float %v600, %v607
  %v609 = add i32 %v601, 1
  br label %b132, !llvm.loop !12
b147:
  br label %b9
b148:
  %v610 = phi float [ %v394, %b40 ], [ %v652, %b156 ]
  %v611 = phi i32 [ 0, %b40 ], [ %v653, %b156 ]
  %v612 = sext i32 %v611 to i64
  %v622 = icmp slt i32 %v611, %v621
  br i1 %v622, label %b149, label %b147
b149:
  %v623 = icmp slt i32 %v611, 12
  br label %b150
b150:
  %v624 = mul i32 %v611, 3
  %v625 = sext i32 %v624 to i64
  %v626 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v625
  %v627 = load float, ptr addrspace(1) %v626, align 4
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
  %v634 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v633
  %v635 = load float, ptr addrspace(1) %v634, align 4
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
  %v642 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v641
  %v643 = load float, ptr addrspace(1) %v642, align 4
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
  %v650 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v649
  %v651 = load float, ptr addrspace(1) %v650, align 4
  %v652 = fadd float %v644, %v651
  %v653 = add i32 %v645, 1
  br label %b148, !llvm.loop !11
b157:
  br label %b28
b158:
  %v654 = phi float [ %v75, %b27 ], [ %v688, %b164 ]
  %v655 = phi i32 [ 0, %b27 ], [ %v689, %b164 ]
  %v656 = sext i32 %v655 to i64
  %v666 = icmp slt i32 %v655, %v665
  br i1 %v666, label %b159, label %b157
b159:
  %v667 = icmp slt i32 %v655, %v57
  br label %b160
b160:
  %v668 = mul i32 %v655, 2
  %v669 = sext i32 %v668 to i64
  %v670 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v669
  %v671 = load float, ptr addrspace(1) %v670, align 4
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
  %v678 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v677
  %v679 = load float, ptr addrspace(1) %v678, align 4
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
  %v686 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v685
  %v687 = load float, ptr addrspace(1) %v686, align 4
  %v688 = fsub float %v680, %v687
  %v689 = add i32 %v681, 1
  br label %b158, !llvm.loop !10
}

declare i32 @llvm.fptosi.sat.i32.f32(float) #1
attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
!3 = distinct !{!3, !{!"llvm.loop.unroll.disable"}}
!4 = distinct !{!4, !{!"llvm.loop.unroll.disable"}}
!5 = distinct !{!5, !{!"llvm.loop.unroll.disable"}}
!6 = distinct !{!6, !{!"llvm.loop.unroll.disable"}}
!7 = distinct !{!7, !{!"llvm.loop.unroll.count", i32 2}}
!8 = distinct !{!8, !{!"llvm.loop.unroll.enable"}}
!9 = distinct !{!9, !{!"llvm.loop.unroll.disable"}}
!10 = distinct !{!10, !{!"llvm.loop.unroll.disable"}}
!11 = distinct !{!11, !{!"llvm.loop.unroll.disable"}}
!12 = distinct !{!12, !{!"llvm.loop.unroll.disable"}}
