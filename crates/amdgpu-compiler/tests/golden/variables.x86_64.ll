source_filename = "variables.hip"
target triple = "x86_64-unknown-linux-gnu"

@taps = dso_local externally_initialized global [16 x i8] zeroinitializer, align 4
@limits = dso_local externally_initialized global [12 x i8] c"\00\00\C0\3F\07\00\00\00\08\00\00\00", align 4
@calls = dso_local externally_initialized global [4 x i8] zeroinitializer, align 4
@start = dso_local externally_initialized global [20 x i8] c"\01\00\00\00\02\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00", align 4
@number.4 = internal externally_initialized global [4 x i8] c"\28\00\00\00", align 4
define internal void @use.lanes(ptr %p0, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %active) alwaysinline #0 {
entry:
  br label %b0
b0:
  %t1 = select <8 x i1> %active, <8 x i32> splat (i32 1), <8 x i32> splat (i32 0)
  %t2 = call i32 @llvm.vector.reduce.add.v8i32(<8 x i32> %t1)
  %v5 = atomicrmw add ptr @calls, i32 %t2 monotonic
  %v37 = getelementptr inbounds i8, ptr @limits, i64 8
  %v12 = load i32, ptr %v37, align 4, !llvm.access.group !0
  %v38 = getelementptr inbounds i32, ptr @start, i64 1
  store i32 %v12, ptr %v38, align 4
  %v39 = getelementptr inbounds i32, ptr @taps, i64 1
  %v20 = load float, ptr %v39, align 4, !llvm.access.group !0
  %v23 = load float, ptr @limits, align 4, !llvm.access.group !0
  %v24 = fadd float %v20, %v23
  %t3 = bitcast <8 x i1> %active to i8
  br label %o34
o34:
  %o34.left = phi i8 [ %t3, %b0 ], [ %o34.rest, %o34.next ]
  %o34.old = phi <8 x i32> [ zeroinitializer, %b0 ], [ %v34, %o34.next ]
  %t4 = call i8 @llvm.cttz.i8(i8 %o34.left, i1 true)
  %o.v34 = atomicrmw add ptr @number.4, i32 1 monotonic
  %v34 = insertelement <8 x i32> %o34.old, i32 %o.v34, i8 %t4
  br label %o34.next
o34.next:
  %o34.less = add i8 %o34.left, -1
  %o34.rest = and i8 %o34.left, %o34.less
  %o34.more = icmp ne i8 %o34.rest, 0
  br i1 %o34.more, label %o34, label %o34.done
o34.done:
  %v26 = sitofp <8 x i32> %v34 to <8 x float>
  %t5 = insertelement <8 x float> poison, float %v24, i64 0
  %t6 = shufflevector <8 x float> %t5, <8 x float> poison, <8 x i32> zeroinitializer
  %v27 = fadd <8 x float> %t6, %v26
  %t7 = bitcast <8 x i1> %active to i8
  %t8 = call i8 @llvm.ctlz.i8(i8 %t7, i1 false)
  %t9 = sub i8 7, %t8
  %t10 = extractelement <8 x float> %v27, i8 %t9
  store float %t10, ptr %p0, align 4
  br label %end
end:
  ret void
}

define void @use(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
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
  %whole.end = and i32 %block_size.x, -8
  %whole.some = icmp ne i32 %whole.end, 0
  br i1 %whole.some, label %item, label %part.test
item:
  %thread_index.x = phi i32 [ 0, %row ], [ %x.next, %item ]
  call void @use.lanes(ptr %a0, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> splat (i1 true))
  %x.next = add nuw nsw i32 %thread_index.x, 8
  %x.more = icmp ult i32 %x.next, %whole.end
  br i1 %x.more, label %item, label %part.test
part.test:
  %part.some = icmp ult i32 %whole.end, %block_size.x
  br i1 %part.some, label %part, label %row.end
part:
  %part.space = sub nuw i32 %block_size.x, %whole.end
  %part.space.one = insertelement <8 x i32> poison, i32 %part.space, i64 0
  %part.space.all = shufflevector <8 x i32> %part.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %part.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %part.space.all
  call void @use.lanes(ptr %a0, i32 %whole.end, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %part.active)
  br label %row.end
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

declare i32 @llvm.vector.reduce.add.v8i32(<8 x i32>) #1
declare i8 @llvm.ctlz.i8(i8, i1) #1
declare i8 @llvm.cttz.i8(i8, i1) #1
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
