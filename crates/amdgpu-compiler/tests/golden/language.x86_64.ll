source_filename = "language.hip"
target triple = "x86_64-unknown-linux-gnu"

@weights = dso_local externally_initialized global [16 x i8] c"\00\00\80\3E\00\00\00\3F\00\00\40\3F\00\00\80\3F", align 4
@__agpu_two_over_pi.1 = internal unnamed_addr constant [40 x i8] c"\00\00\00\00\6E\83\F9\A2\29\15\44\4E\D1\57\27\FC\C0\DD\34\F5\99\95\62\DB\41\90\43\3C\AB\63\51\FE\61\C5\BB\DE\00\00\00\00", align 4
define internal float @square.0(float %p0) alwaysinline #0 {
b0:
  %v1 = fmul float %p0, %p0
  ret float %v1
}

define internal double @square.1(double %p0) alwaysinline #0 {
b0:
  %v1 = fmul double %p0, %p0
  ret double %v1
}

define internal i32 @twice.2(i32 %p0) alwaysinline #0 {
b0:
  %v2 = mul i32 2, %p0
  ret i32 %v2
}

define internal void @exchange.3(ptr %p0, ptr %p1) alwaysinline #0 {
b0:
  %v2 = load float, ptr %p0, align 4, !llvm.access.group !0
  %v3 = load float, ptr %p1, align 4, !llvm.access.group !0
  store float %v3, ptr %p0, align 4, !llvm.access.group !0
  store float %v2, ptr %p1, align 4, !llvm.access.group !0
  ret void
}

define internal void @moved.4(ptr %p0, ptr %p1, float %p2) alwaysinline #0 {
b0:
  %v3 = load float, ptr %p1, align 4, !llvm.access.group !0
  %v4 = fadd float %v3, %p2
  store float %v4, ptr %p1, align 4, !llvm.access.group !0
  %v7 = getelementptr inbounds i8, ptr %p1, i64 4
  %v8 = load float, ptr %v7, align 4, !llvm.access.group !0
  %v9 = fsub float %v8, %p2
  store float %v9, ptr %v7, align 4, !llvm.access.group !0
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %p0, ptr align 4 %p1, i64 12, i1 false)
  ret void
}

define internal i32 @factorial.5(i32 %p0) #0 {
b0:
  %v2 = icmp sle i32 %p0, 1
  br i1 %v2, label %b1, label %b2
b1:
  br label %b3
b2:
  %v3 = sub i32 %p0, 1
  %v4 = call i32 @factorial.5(i32 %v3)
  %v5 = mul i32 %p0, %v4
  br label %b3
b3:
  %v6 = phi i32 [ 1, %b1 ], [ %v5, %b2 ]
  ret i32 %v6
}

define internal i32 @index.6(i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v0 = add i32 %block_index.x, 0
  %v1 = add i32 %block_size.x, 0
  %v2 = mul i32 %v0, %v1
  %v3 = add i32 %thread_index.x, 0
  %v4 = add i32 %v2, %v3
  ret i32 %v4
}

define internal void @language.item(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, i8 %p4, double %p5, i8 %p6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v12 = alloca [4 x i8], align 4
  %v14 = alloca [4 x i8], align 4
  %v16 = alloca [16 x i8], align 4
  %v18 = alloca [12 x i8], align 4
  %v20 = alloca [16 x i8], align 16
  %v74 = alloca [12 x i8], align 4
  %v76 = alloca [12 x i8], align 4
  %v78 = alloca [12 x i8], align 4
  %v9 = icmp ne i8 %p4, 0
  %v22 = call i32 @index.6(i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %v23 = icmp uge i32 %v22, %p3
  br i1 %v23, label %b1, label %b2
b1:
  ret void
b2:
  %v28 = zext i32 %v22 to i64
  %v316 = getelementptr inbounds i32, ptr %p0, i64 %v28
  %v30 = load float, ptr %v316, align 4, !llvm.access.group !0
  store float %v30, ptr %v12, align 4
  %v32 = load float, ptr %v12, align 4
  %v33 = call float @square.0(float %v32)
  %v35 = fadd float %v33, 0x3FF0000000000000
  store float %v35, ptr %v14, align 4
  call void @llvm.memset.p0.i64(ptr align 4 %v16, i8 0, i64 16, i1 false)
  store float 0x3FF0000000000000, ptr %v16, align 4
  %v317 = getelementptr inbounds i8, ptr %v16, i64 4
  store float 0x4000000000000000, ptr %v317, align 4
  br label %b4
b4:
  %v44 = phi i32 [ 0, %b2 ], [ %v63, %b6 ]
  %v46 = icmp slt i32 %v44, 4
  br i1 %v46, label %b5, label %b7
b5:
  %v48 = icmp eq i32 %v44, 3
  br i1 %v48, label %b8, label %b9
b6:
  %v63 = add i32 %v44, 1
  br label %b4
b7:
  %v318 = getelementptr inbounds [12 x i8], ptr %p2, i64 %v28
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v18, ptr align 4 %v318, i64 12, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v78, ptr align 4 %v18, i64 12, i1 false)
  %v81 = load float, ptr %v14, align 4
  call void @moved.4(ptr %v76, ptr %v78, float %v81)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v18, ptr align 4 %v76, i64 12, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v74, ptr align 4 %v76, i64 12, i1 false)
  %v87 = load float, ptr %v18, align 4
  store float %v87, ptr %v318, align 4, !llvm.access.group !0
  br i1 %v9, label %b11, label %b12
b8:
  br label %b6
b9:
  %v50 = sext i32 %v44 to i64
  %v320 = getelementptr inbounds i32, ptr %v16, i64 %v50
  %v52 = load float, ptr %v320, align 4
  %v53 = load float, ptr %v12, align 4
  %v321 = getelementptr inbounds i32, ptr @weights, i64 %v50
  %v58 = load float, ptr %v321, align 4, !llvm.access.group !0
  %v59 = call float @llvm.fma.f32(float %v53, float %v58, float %v52)
  store float %v59, ptr %v320, align 4
  br label %b6
b11:
  %v322 = getelementptr inbounds i8, ptr %v18, i64 4
  %v95 = load float, ptr %v322, align 4
  br label %b13
b12:
  %v323 = getelementptr inbounds i8, ptr %v18, i64 4
  %v97 = load float, ptr %v323, align 4
  %v98 = fneg float %v97
  br label %b13
b13:
  %v99 = phi float [ %v95, %b11 ], [ %v98, %b12 ]
  %v324 = getelementptr inbounds i8, ptr %v318, i64 4
  store float %v99, ptr %v324, align 4, !llvm.access.group !0
  %v325 = getelementptr inbounds i8, ptr %v318, i64 8
  %v106 = load i32, ptr %v325, align 4, !llvm.access.group !0
  %v107 = xor i32 %v106, 90
  store i32 %v107, ptr %v325, align 4, !llvm.access.group !0
  call void @exchange.3(ptr %v12, ptr %v14)
  br label %b14
b14:
  %v111 = phi i32 [ 0, %b13 ], [ %v112, %b16 ]
  br label %b15
b15:
  %v112 = add i32 %v111, 1
  %v114 = icmp sgt i32 %v112, 7
  br i1 %v114, label %b18, label %b20
b16:
  br label %b14
b17:
  br label %b22
b18:
  br label %b17
b19:
  %v118 = load float, ptr %v12, align 4
  %v120 = fmul float %v118, 0x3FF8000000000000
  store float %v120, ptr %v12, align 4
  br label %b16
b20:
  %v115 = load float, ptr %v12, align 4
  %v117 = fcmp ogt float %v115, 0x412E848000000000
  br i1 %v117, label %b18, label %b19
b22:
  %v123 = phi i32 [ %v112, %b17 ], [ %v124, %b25 ]
  %v124 = sub i32 %v123, 1
  br label %b23
b23:
  %v125 = icmp sgt i32 %v124, 0
  br i1 %v125, label %b25, label %b24
b24:
  %v143 = zext i8 %p6 to i32
  switch i32 %v143, label %b30 [ i32 0, label %b27 i32 2, label %b28 i32 3, label %b28 i32 4, label %b29 ]
b25:
  %v126 = load float, ptr %v14, align 4
  %v128 = fcmp olt float %v126, 0x4059000000000000
  br i1 %v128, label %b22, label %b24
b26:
  %v166 = and i32 %v22, 1
  %v167 = icmp ne i32 %v166, 0
  %v169 = select i1 %v167, i8 3, i8 0
  %v170 = icmp eq i8 %v169, 3
  br i1 %v170, label %b33, label %b34
b27:
  %v144 = load float, ptr %v14, align 4
  %v145 = fadd float %v144, 0x3FF0000000000000
  store float %v145, ptr %v14, align 4
  br label %b26
b28:
  %v147 = load float, ptr %v14, align 4
  %v148 = fsub float %v147, 0x3FF0000000000000
  store float %v148, ptr %v14, align 4
  br label %b29
b29:
  %v150 = load float, ptr %v14, align 4
  %v151 = fmul float %v150, 0x4000000000000000
  store float %v151, ptr %v14, align 4
  br label %b26
b30:
  store float 0x0000000000000000, ptr %v14, align 4
  br label %b26
b33:
  %v171 = load float, ptr %v14, align 4
  %v172 = fneg float %v171
  store float %v172, ptr %v14, align 4
  br label %b34
b34:
  %v175 = shl i32 %v22, 3
  %v176 = lshr i32 %v175, 1
  %v193 = icmp slt i32 %p3, 3
  %v194 = select i1 %v193, i32 %p3, i32 3
  %v195.z = icmp eq i32 %v194, 0
  %v195.m = icmp eq i32 %v194, -1
  %v195.s = or i1 %v195.z, %v195.m
  %v195.d = select i1 %v195.s, i32 1, i32 %v194
  %v195.q = sdiv i32 %v22, %v195.d
  %v195.n = sub i32 0, %v22
  %v195.r = select i1 %v195.m, i32 %v195.n, i32 %v195.q
  %v195 = select i1 %v195.z, i32 0, i32 %v195.r
  %v197 = srem i32 %v195, 5
  %v199 = xor i32 %v197, -1
  %v201 = and i32 %v199, 255
  %v202 = or i32 %v176, %v201
  %v203 = sext i32 %v202 to i64
  %v204 = call i32 @twice.2(i32 3)
  %v205 = sext i32 %v204 to i64
  %v206 = mul i64 %v203, %v205
  %v207 = trunc i64 %v206 to i16
  %v208 = sext i16 %v207 to i64
  %v209 = add i64 %v206, %v208
  %v211 = sub i64 %v209, 12
  %v212 = and i32 %v22, 3
  %v213 = zext i32 %v212 to i64
  %v326 = getelementptr inbounds i32, ptr %v16, i64 %v213
  %v215 = load float, ptr %v326, align 4
  %v216 = load float, ptr %v12, align 4
  %v217 = load float, ptr %v14, align 4
  %v218 = sitofp i64 %v211 to float
  %v219 = call float @fmaf.8(float %v216, float %v217, float %v218)
  %v220 = fadd float %v215, %v219
  %v221 = load float, ptr %v12, align 4
  %v222 = call float @fabsf.9(float %v221)
  %v223 = call float @sqrtf.10(float %v222)
  %v224 = fadd float %v220, %v223
  %v225 = load float, ptr %v12, align 4
  %v226 = load float, ptr %v14, align 4
  %v227 = call float @fminf.11(float %v225, float %v226)
  %v228 = fadd float %v224, %v227
  %v229 = load float, ptr %v12, align 4
  %v230 = fneg float %v229
  %v231 = load float, ptr %v12, align 4
  %v232 = fmul float %v230, %v231
  %v233 = call float @expf.12(float %v232)
  %v234 = fadd float %v228, %v233
  %v235 = load float, ptr %v14, align 4
  %v236 = call float @sinf.13(float %v235)
  %v237 = fadd float %v234, %v236
  %v238 = call i32 @factorial.5(i32 3)
  %v239 = sitofp i32 %v238 to float
  %v240 = fadd float %v237, %v239
  %v258 = call double @square.1(double %p5)
  %v260 = fcmp ogt double %v258, 0x4000000000000000
  %v261 = select i1 %v260, i32 1, i32 0
  %v262 = sitofp i32 %v261 to float
  %v263 = fadd float %v240, %v262
  %v264 = load float, ptr %v12, align 4
  %v265 = load float, ptr %v14, align 4
  call void @make_float4.14(ptr %v20, float %v264, float %v265, float 0x3FF0000000000000, float 0x4000000000000000)
  %v327 = getelementptr inbounds i8, ptr %v20, i64 12
  %v268 = load float, ptr %v327, align 4
  %v269 = load float, ptr %v20, align 4
  %v270 = fadd float %v268, %v269
  store float %v270, ptr %v327, align 4
  %v273 = load float, ptr %v327, align 4
  %v274 = fadd float %v263, %v273
  %v275 = load float, ptr %v12, align 4
  %v276 = load float, ptr %v14, align 4
  %v277 = fcmp olt float %v275, %v276
  br i1 %v277, label %b35, label %b36
b35:
  %v278 = load float, ptr %v12, align 4
  br label %b37
b36:
  %v279 = load float, ptr %v14, align 4
  br label %b37
b37:
  %v280 = phi float [ %v278, %b35 ], [ %v279, %b36 ]
  %v281 = fsub float %v274, %v280
  %v300 = sext i32 %p3 to i64
  %v329 = getelementptr inbounds i32, ptr %p1, i64 %v300
  %v302 = icmp ugt ptr %v329, %p1
  %v303 = select i1 %v302, i32 1, i32 0
  %v304 = sitofp i32 %v303 to float
  %v305 = fadd float %v281, %v304
  %v307 = call i32 @max.15(i32 %v22, i32 7)
  %v308 = uitofp i32 %v307 to float
  %v309 = fadd float %v305, %v308
  %v310 = call i32 @__popc.16(i32 %v22)
  %v311 = sitofp i32 %v310 to float
  %v312 = fadd float %v309, %v311
  %v330 = getelementptr inbounds i32, ptr %p1, i64 %v28
  store float %v312, ptr %v330, align 4, !llvm.access.group !0
  ret void
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

define internal float @fmaf.8(float %p0, float %p1, float %p2) alwaysinline #0 {
b0:
  %v3 = call float @llvm.fma.f32(float %p0, float %p1, float %p2)
  ret float %v3
}

define internal float @fabsf.9(float %p0) alwaysinline #0 {
b0:
  %v1 = call float @llvm.fabs.f32(float %p0)
  ret float %v1
}

define internal float @sqrtf.10(float %p0) alwaysinline #0 {
b0:
  %v1 = call float @llvm.sqrt.f32(float %p0)
  ret float %v1
}

define internal float @fminf.11(float %p0, float %p1) alwaysinline #0 {
b0:
  %v2 = call float @llvm.minimumnum.f32(float %p0, float %p1)
  ret float %v2
}

define internal float @expf.12(float %p0) alwaysinline #0 {
b0:
  %v2 = fcmp ogt float %p0, 0x4056400000000000
  %v4 = fcmp olt float %p0, 0xC05A000000000000
  %v5 = select i1 %v4, float 0xC05A000000000000, float %p0
  %v6 = select i1 %v2, float 0x4056400000000000, float %v5
  %v8 = fmul float %v6, 0x3FF7154760000000
  %v9 = call float @llvm.roundeven.f32(float %v8)
  %v11 = call float @llvm.fma.f32(float %v9, float 0xBFE62E4300000000, float %v6)
  %v13 = call float @llvm.fma.f32(float %v9, float 0x3E205C6100000000, float %v11)
  %v16 = call float @llvm.fma.f32(float 0x3F56A1A720000000, float %v13, float 0x3F8123FC60000000)
  %v18 = call float @llvm.fma.f32(float %v16, float %v13, float 0x3FA5559160000000)
  %v20 = call float @llvm.fma.f32(float %v18, float %v13, float 0x3FC55548A0000000)
  %v22 = call float @llvm.fma.f32(float %v20, float %v13, float 0x3FDFFFFFC0000000)
  %v24 = fmul float %v13, %v13
  %v25 = call float @llvm.fma.f32(float %v24, float %v22, float %v13)
  %v26 = fadd float 0x3FF0000000000000, %v25
  %v27 = call i32 @llvm.fptosi.sat.i32.f32(float %v9)
  %v29 = ashr i32 %v27, 1
  %v31 = add i32 %v29, 127
  %v33 = shl i32 %v31, 23
  %v34 = bitcast i32 %v33 to float
  %v35 = fmul float %v26, %v34
  %v36 = sub i32 %v27, %v29
  %v37 = add i32 %v36, 127
  %v38 = shl i32 %v37, 23
  %v39 = bitcast i32 %v38 to float
  %v40 = fmul float %v35, %v39
  ret float %v40
}

define internal float @sinf.13(float %p0) alwaysinline #0 {
b0:
  %v2 = fcmp oeq float %p0, 0x0000000000000000
  br i1 %v2, label %b1, label %b2
b1:
  br label %b3
b2:
  %v4 = call float @__agpu_sine_or_cosine.17(float %p0, i32 0)
  br label %b3
b3:
  %v5 = phi float [ %p0, %b1 ], [ %v4, %b2 ]
  ret float %v5
}

define internal void @make_float4.14(ptr %p0, float %p1, float %p2, float %p3, float %p4) alwaysinline #0 {
b0:
  store float %p1, ptr %p0, align 4, !llvm.access.group !0
  %v7 = getelementptr inbounds i8, ptr %p0, i64 4
  store float %p2, ptr %v7, align 4, !llvm.access.group !0
  %v10 = getelementptr inbounds i8, ptr %p0, i64 8
  store float %p3, ptr %v10, align 4, !llvm.access.group !0
  %v13 = getelementptr inbounds i8, ptr %p0, i64 12
  store float %p4, ptr %v13, align 4, !llvm.access.group !0
  ret void
}

define internal i32 @max.15(i32 %p0, i32 %p1) alwaysinline #0 {
b0:
  %v2 = icmp ugt i32 %p0, %p1
  %v3 = select i1 %v2, i32 %p0, i32 %p1
  ret i32 %v3
}

define internal i32 @__popc.16(i32 %p0) alwaysinline #0 {
b0:
  %v1 = call i32 @llvm.ctpop.i32(i32 %p0)
  ret i32 %v1
}

define internal float @__agpu_sine_or_cosine.17(float %p0, i32 %p1) alwaysinline #0 {
b0:
  %v2 = call float @llvm.fabs.f32(float %p0)
  %v5 = fcmp olt float %v2, 0x7FF0000000000000
  br i1 %v5, label %b2, label %b1
b1:
  ret float 0x7FF8000000000000
b2:
  %v13 = fcmp ogt float %v2, 0x40F0000000000000
  br i1 %v13, label %b4, label %b6
b4:
  %v14 = call i64 @__agpu_quarter_turns.18(float %v2)
  %v16 = add i64 %v14, 2305843009213693952
  %v18 = lshr i64 %v16, 62
  %v19 = shl i64 %v18, 62
  %v20 = sub i64 %v14, %v19
  %v21 = sitofp i64 %v20 to double
  %v23 = fmul double %v21, 0x3C1921FB54442D18
  %v24 = fptrunc double %v23 to float
  %v25 = trunc i64 %v18 to i32
  %v27 = fcmp olt float %p0, 0x0000000000000000
  %v28 = fneg float %v24
  %v29 = select i1 %v27, float %v28, float %v24
  %v31 = sub i32 0, %v25
  %v32 = select i1 %v27, i32 %v31, i32 %v25
  br label %b5
b5:
  %v48 = phi float [ %v29, %b4 ], [ %v41, %b6 ]
  %v46 = phi i32 [ %v32, %b4 ], [ %v42, %b6 ]
  %v47 = add i32 %v46, %p1
  %v49 = call float @__agpu_sine.19(float %v48)
  %v50 = call float @__agpu_cosine.20(float %v48)
  %v52 = and i32 %v47, 1
  %v53 = icmp ne i32 %v52, 0
  %v54 = select i1 %v53, float %v50, float %v49
  %v56 = and i32 %v47, 2
  %v57 = icmp ne i32 %v56, 0
  %v58 = fneg float %v54
  %v59 = select i1 %v57, float %v58, float %v54
  ret float %v59
b6:
  %v34 = fmul float %p0, 0x3FE45F3060000000
  %v35 = call float @llvm.roundeven.f32(float %v34)
  %v37 = call float @llvm.fma.f32(float %v35, float 0xBFF921FB60000000, float %p0)
  %v39 = call float @llvm.fma.f32(float %v35, float 0x3E6777A5C0000000, float %v37)
  %v41 = call float @llvm.fma.f32(float %v35, float 0x3CDEE59DA0000000, float %v39)
  %v42 = call i32 @llvm.fptosi.sat.i32.f32(float %v35)
  br label %b5
}

define internal i64 @__agpu_quarter_turns.18(float %p0) alwaysinline #0 {
b0:
  %v1 = bitcast float %p0 to i32
  %v3 = and i32 %v1, 8388607
  %v5 = or i32 %v3, 8388608
  %v6 = sext i32 %v5 to i64
  %v8 = ashr i32 %v1, 23
  %v10 = sub i32 %v8, 150
  %v12 = add i32 %v10, 30
  %v14 = ashr i32 %v12, 5
  %v16 = and i32 %v12, 31
  %v19 = sext i32 %v14 to i64
  %v89 = getelementptr inbounds i32, ptr @__agpu_two_over_pi.1, i64 %v19
  %v21 = load i32, ptr %v89, align 4, !llvm.access.group !0
  %v22 = zext i32 %v21 to i64
  %v24 = shl i64 %v22, 32
  %v28 = add i32 %v14, 1
  %v29 = sext i32 %v28 to i64
  %v90 = getelementptr inbounds i32, ptr @__agpu_two_over_pi.1, i64 %v29
  %v31 = load i32, ptr %v90, align 4, !llvm.access.group !0
  %v32 = zext i32 %v31 to i64
  %v33 = or i64 %v24, %v32
  %v34 = sext i32 %v16 to i64
  %v35.c = and i64 %v34, 63
  %v35 = shl i64 %v33, %v35.c
  %v36 = lshr i64 %v35, 32
  %v91 = getelementptr inbounds i32, ptr @__agpu_two_over_pi.1, i64 %v29
  %v42 = load i32, ptr %v91, align 4, !llvm.access.group !0
  %v43 = zext i32 %v42 to i64
  %v44 = shl i64 %v43, 32
  %v48 = add i32 %v14, 2
  %v49 = sext i32 %v48 to i64
  %v92 = getelementptr inbounds i32, ptr @__agpu_two_over_pi.1, i64 %v49
  %v51 = load i32, ptr %v92, align 4, !llvm.access.group !0
  %v52 = zext i32 %v51 to i64
  %v53 = or i64 %v44, %v52
  %v55.c = and i64 %v34, 63
  %v55 = shl i64 %v53, %v55.c
  %v56 = lshr i64 %v55, 32
  %v93 = getelementptr inbounds i32, ptr @__agpu_two_over_pi.1, i64 %v49
  %v62 = load i32, ptr %v93, align 4, !llvm.access.group !0
  %v63 = zext i32 %v62 to i64
  %v64 = shl i64 %v63, 32
  %v68 = add i32 %v14, 3
  %v69 = sext i32 %v68 to i64
  %v94 = getelementptr inbounds i32, ptr @__agpu_two_over_pi.1, i64 %v69
  %v71 = load i32, ptr %v94, align 4, !llvm.access.group !0
  %v72 = zext i32 %v71 to i64
  %v73 = or i64 %v64, %v72
  %v75.c = and i64 %v34, 63
  %v75 = shl i64 %v73, %v75.c
  %v76 = lshr i64 %v75, 32
  %v77 = mul i64 %v6, %v76
  %v78 = lshr i64 %v77, 32
  %v79 = mul i64 %v6, %v56
  %v80 = add i64 %v78, %v79
  %v81 = lshr i64 %v80, 32
  %v82 = mul i64 %v6, %v36
  %v83 = add i64 %v81, %v82
  %v84 = shl i64 %v83, 32
  %v86 = and i64 %v80, 4294967295
  %v87 = or i64 %v84, %v86
  ret i64 %v87
}

define internal float @__agpu_sine.19(float %p0) alwaysinline #0 {
b0:
  %v1 = fmul float %p0, %p0
  %v4 = call float @llvm.fma.f32(float 0x3EC6CCCC80000000, float %v1, float 0xBF2A00F6A0000000)
  %v6 = call float @llvm.fma.f32(float %v4, float %v1, float 0x3F81111080000000)
  %v8 = call float @llvm.fma.f32(float %v6, float %v1, float 0xBFC5555560000000)
  %v9 = fmul float %p0, %v1
  %v10 = call float @llvm.fma.f32(float %v9, float %v8, float %p0)
  ret float %v10
}

define internal float @__agpu_cosine.20(float %p0) alwaysinline #0 {
b0:
  %v1 = fmul float %p0, %p0
  %v4 = call float @llvm.fma.f32(float 0xBE9241AB60000000, float %v1, float 0x3EFA010CC0000000)
  %v6 = call float @llvm.fma.f32(float %v4, float %v1, float 0xBF56C16B80000000)
  %v8 = call float @llvm.fma.f32(float %v6, float %v1, float 0x3FA5555560000000)
  %v9 = fmul float %v1, %v1
  %v12 = call float @llvm.fma.f32(float %v1, float 0xBFE0000000000000, float 0x3FF0000000000000)
  %v13 = call float @llvm.fma.f32(float %v9, float %v8, float %v12)
  ret float %v13
}

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
