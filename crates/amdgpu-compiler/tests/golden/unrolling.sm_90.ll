source_filename = "unrolling.hip"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @unrolling(ptr addrspace(1) %p0, i32 %p1) #0 {
b0:
  br label %b131
b9:
  %v31 = phi float [ %v605, %b146 ], [ %v38, %b10 ]
  %v28 = phi i32 [ %v606, %b146 ], [ %v39, %b10 ]
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
  br label %b155
b28:
  %v86 = phi float [ %v644, %b155 ], [ %v92, %b29 ]
  %v83 = phi i32 [ %v645, %b155 ], [ %v93, %b29 ]
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
  br label %b146
b131:
  %v542 = phi float [ 0x0000000000000000, %b0 ], [ %v603, %b145 ]
  %v543 = phi i32 [ 0, %b0 ], [ %v604, %b145 ]
  %v544 = sext i32 %v543 to i64
  %v545 = sext i32 %p1 to i64
  %v548 = add i64 %v544, 6
  %v549 = icmp slt i64 %v548, %v545
  br i1 %v549, label %b132, label %b34
b132:
  %v550 = icmp slt i32 %v543, %p1
  br label %b133
b133:
  %v551 = mul i32 %v543, %p1
  %v552 = sext i32 %v551 to i64
  %v553 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v552
  %v554 = load float, ptr addrspace(1) %v553, align 4
  %v555 = fadd float %v542, %v554
  %v556 = add i32 %v543, 1
  br label %b134
b134:
  %v557 = add i64 %v544, 1
  %v558 = icmp slt i32 %v556, %p1
  br label %b135
b135:
  %v559 = mul i32 %v556, %p1
  %v560 = sext i32 %v559 to i64
  %v561 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v560
  %v562 = load float, ptr addrspace(1) %v561, align 4
  %v563 = fadd float %v555, %v562
  %v564 = add i32 %v556, 1
  br label %b136
b136:
  %v565 = add i64 %v557, 1
  %v566 = icmp slt i32 %v564, %p1
  br label %b137
b137:
  %v567 = mul i32 %v564, %p1
  %v568 = sext i32 %v567 to i64
  %v569 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v568
  %v570 = load float, ptr addrspace(1) %v569, align 4
  %v571 = fadd float %v563, %v570
  %v572 = add i32 %v564, 1
  br label %b138
b138:
  %v573 = add i64 %v565, 1
  %v574 = icmp slt i32 %v572, %p1
  br label %b139
b139:
  %v575 = mul i32 %v572, %p1
  %v576 = sext i32 %v575 to i64
  %v577 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v576
  %v578 = load float, ptr addrspace(1) %v577, align 4
  %v579 = fadd float %v571, %v578
  %v580 = add i32 %v572, 1
  br label %b140
b140:
  %v581 = add i64 %v573, 1
  %v582 = icmp slt i32 %v580, %p1
  br label %b141
b141:
  %v583 = mul i32 %v580, %p1
  %v584 = sext i32 %v583 to i64
  %v585 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v584
  %v586 = load float, ptr addrspace(1) %v585, align 4
  %v587 = fadd float %v579, %v586
  %v588 = add i32 %v580, 1
  br label %b142
b142:
  %v589 = add i64 %v581, 1
  %v590 = icmp slt i32 %v588, %p1
  br label %b143
b143:
  %v591 = mul i32 %v588, %p1
  %v592 = sext i32 %v591 to i64
  %v593 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v592
  %v594 = load float, ptr addrspace(1) %v593, align 4
  %v595 = fadd float %v587, %v594
  %v596 = add i32 %v588, 1
  br label %b144
b144:
  %v597 = add i64 %v589, 1
  %v598 = icmp slt i32 %v596, %p1
  br label %b145
b145:
  %v599 = mul i32 %v596, %p1
  %v600 = sext i32 %v599 to i64
  %v601 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v600
  %v602 = load float, ptr addrspace(1) %v601, align 4
  %v603 = fadd float %v595, %v602
  %v604 = add i32 %v596, 1
  br label %b131, !llvm.loop !12
b146:
  %v605 = phi float [ %v394, %b40 ], [ %v642, %b154 ]
  %v606 = phi i32 [ 0, %b40 ], [ %v643, %b154 ]
  %v607 = sext i32 %v606 to i64
  %v608 = sext i32 12 to i64
  %v611 = add i64 %v607, 3
  %v612 = icmp slt i64 %v611, %v608
  br i1 %v612, label %b147, label %b9
b147:
  %v613 = icmp slt i32 %v606, 12
  br label %b148
b148:
  %v614 = mul i32 %v606, 3
  %v615 = sext i32 %v614 to i64
  %v616 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v615
  %v617 = load float, ptr addrspace(1) %v616, align 4
  %v618 = fadd float %v605, %v617
  %v619 = add i32 %v606, 1
  br label %b149
b149:
  %v620 = add i64 %v607, 1
  %v621 = icmp slt i32 %v619, 12
  br label %b150
b150:
  %v622 = mul i32 %v619, 3
  %v623 = sext i32 %v622 to i64
  %v624 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v623
  %v625 = load float, ptr addrspace(1) %v624, align 4
  %v626 = fadd float %v618, %v625
  %v627 = add i32 %v619, 1
  br label %b151
b151:
  %v628 = add i64 %v620, 1
  %v629 = icmp slt i32 %v627, 12
  br label %b152
b152:
  %v630 = mul i32 %v627, 3
  %v631 = sext i32 %v630 to i64
  %v632 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v631
  %v633 = load float, ptr addrspace(1) %v632, align 4
  %v634 = fadd float %v626, %v633
  %v635 = add i32 %v627, 1
  br label %b153
b153:
  %v636 = add i64 %v628, 1
  %v637 = icmp slt i32 %v635, 12
  br label %b154
b154:
  %v638 = mul i32 %v635, 3
  %v639 = sext i32 %v638 to i64
  %v640 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v639
  %v641 = load float, ptr addrspace(1) %v640, align 4
  %v642 = fadd float %v634, %v641
  %v643 = add i32 %v635, 1
  br label %b146, !llvm.loop !11
b155:
  %v644 = phi float [ %v75, %b27 ], [ %v673, %b161 ]
  %v645 = phi i32 [ 0, %b27 ], [ %v674, %b161 ]
  %v646 = sext i32 %v645 to i64
  %v647 = sext i32 %v57 to i64
  %v650 = add i64 %v646, 2
  %v651 = icmp slt i64 %v650, %v647
  br i1 %v651, label %b156, label %b28
b156:
  %v652 = icmp slt i32 %v645, %v57
  br label %b157
b157:
  %v653 = mul i32 %v645, 2
  %v654 = sext i32 %v653 to i64
  %v655 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v654
  %v656 = load float, ptr addrspace(1) %v655, align 4
  %v657 = fsub float %v644, %v656
  %v658 = add i32 %v645, 1
  br label %b158
b158:
  %v659 = add i64 %v646, 1
  %v660 = icmp slt i32 %v658, %v57
  br label %b159
b159:
  %v661 = mul i32 %v658, 2
  %v662 = sext i32 %v661 to i64
  %v663 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v662
  %v664 = load float, ptr addrspace(1) %v663, align 4
  %v665 = fsub float %v657, %v664
  %v666 = add i32 %v658, 1
  br label %b160
b160:
  %v667 = add i64 %v659, 1
  %v668 = icmp slt i32 %v666, %v57
  br label %b161
b161:
  %v669 = mul i32 %v666, 2
  %v670 = sext i32 %v669 to i64
  %v671 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v670
  %v672 = load float, ptr addrspace(1) %v671, align 4
  %v673 = fsub float %v665, %v672
  %v674 = add i32 %v666, 1
  br label %b155, !llvm.loop !10
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
