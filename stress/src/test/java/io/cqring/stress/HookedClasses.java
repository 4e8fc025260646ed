package io.cqring.stress;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Loads the shipped classes of queues, event queues and channels once more, beside those of the test, with each call that touches
 * another thread replaced by the method of {@link Explorer} of the same name, and nothing else changed. A class of the test that uses
 * them is to be loaded with them ({@link #RIG}).
 *
 * <p>For twins, a method can be made to leave a call out; what the call would have returned is false, 0 or null. Or it is made to call another
 * method of {@link Explorer} instead.
 */
final class HookedClasses extends ClassLoader {
    /** Classes loaded here begin with this. */
    private static final String RIG = "io.cqring.stress.ChannelRig";

    private static final Set<String> PACKAGES = Set.of("io.cqring.cq", "io.cqring.eq", "io.cqring.notify");
    private static final String EXPLORER = Type.getInternalName(Explorer.class);

    /** Whose calls are replaced, and by name which. */
    private static final Map<String, Set<String>> REPLACED = Map.of(
            "io/cqring/memory/QueueMemory",
            Set.of(
                    "getLong",
                    "putLong",
                    "getLongOpaque",
                    "putLongOpaque",
                    "getLongAcquire",
                    "putLongRelease",
                    "compareAndSetLong",
                    "compareAndExchangeLong",
                    "getAndAddLong",
                    "fullFence"),
            "java/util/concurrent/locks/ReentrantLock",
            Set.of("lock", "unlock", "newCondition"),
            "java/util/concurrent/locks/Condition",
            Set.of("awaitNanos", "signalAll"),
            "java/util/concurrent/locks/LockSupport",
            Set.of("park", "parkNanos", "unpark"),
            "java/lang/Thread",
            Set.of("interrupt", "interrupted"),
            "java/lang/System",
            Set.of("nanoTime"));

    /** Calls to those whose calls are replaced that need not be: they touch nobody. */
    private static final Set<String> LEFT_ALONE = Set.of("<init>");

    /** Plain fields that threads share without a lock. */
    private static final Map<String, Set<String>> FIELDS = Map.of("io/cqring/eq/Interrupt", Set.of("waiter"));

    private final String leavesOutIn;
    private final String leavesOut;

    /** What is called instead; null: nothing. */
    private final String instead;

    private int leftOut;

    /** The shipped classes. */
    HookedClasses() {
        this(null, null);
    }

    /**
     * A twin.
     *
     * @param method class and method that leaves a call out, as {@code QueueArm.serve}, or all methods of this name in a package, as
     *               {@code notify.leave}
     * @param call   name of the call
     */
    HookedClasses(String method, String call) {
        this(method, call, null);
    }

    /**
     * A twin.
     *
     * @param method  class and method, or package and method, as above
     * @param call    name of the call that it does not make
     * @param instead name of the method of {@link Explorer} that it calls instead, with the same arguments; null for none
     */
    HookedClasses(String method, String call, String instead) {
        super(HookedClasses.class.getClassLoader());
        this.leavesOutIn = method;
        this.leavesOut = call;
        this.instead = instead;
    }

    /** Calls left out, or replaced by another, in the classes loaded so far. */
    int leftOut() {
        return leftOut;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        int end = name.lastIndexOf('.');
        if (!name.startsWith(RIG) && (end < 0 || !PACKAGES.contains(name.substring(0, end)))) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded == null) {
                byte[] hooked = hook(name);
                loaded = defineClass(name, hooked, 0, hooked.length);
            }
            return loaded;
        }
    }

    private byte[] hook(String name) throws ClassNotFoundException {
        try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
            if (in == null) {
                throw new ClassNotFoundException(name);
            }
            ClassReader reader = new ClassReader(in);
            ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
            String[] parts = name.split("\\.", -1);
            String simple = parts[parts.length - 1];
            String folder = parts[parts.length - 2];
            reader.accept(
                    new ClassVisitor(Opcodes.ASM9, writer) {
                        @Override
                        public MethodVisitor visitMethod(
                                int access, String method, String descriptor, String signature, String[] exceptions) {
                            return new Hooks(
                                    super.visitMethod(access, method, descriptor, signature, exceptions),
                                    (simple + "." + method).equals(leavesOutIn)
                                            || (folder + "." + method).equals(leavesOutIn));
                        }
                    },
                    0);
            return writer.toByteArray();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private final class Hooks extends MethodVisitor {
        private final boolean leavesOutHere;

        Hooks(MethodVisitor next, boolean leavesOutHere) {
            super(Opcodes.ASM9, next);
            this.leavesOutHere = leavesOutHere;
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            if (FIELDS.getOrDefault(owner, Set.of()).contains(name)) {
                super.visitMethodInsn(Opcodes.INVOKESTATIC, EXPLORER, "field", "()V", false);
            }
            super.visitFieldInsn(opcode, owner, name, descriptor);
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            Set<String> replaced = REPLACED.getOrDefault(owner, Set.of());
            boolean leavesThisOut = leavesOutHere && name.equals(leavesOut);
            leftOut += leavesThisOut ? 1 : 0;
            if (leavesThisOut && instead == null) {
                leaveOut(opcode, descriptor);
            } else if (leavesThisOut || replaced.contains(name)) {
                String all = opcode == Opcodes.INVOKESTATIC ? descriptor : "(L" + owner + ";" + descriptor.substring(1);
                super.visitMethodInsn(Opcodes.INVOKESTATIC, EXPLORER, leavesThisOut ? instead : name, all, false);
            } else if (owner.startsWith("java/util/concurrent/locks/") && !LEFT_ALONE.contains(name)) {
                throw new IllegalStateException("a call that the explorer does not know: " + owner + "." + name);
            } else {
                super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
            }
        }

        private void leaveOut(int opcode, String descriptor) {
            Type[] arguments = Type.getArgumentTypes(descriptor);
            for (int i = arguments.length - 1; i >= 0; i--) {
                visitInsn(arguments[i].getSize() == 2 ? Opcodes.POP2 : Opcodes.POP);
            }
            if (opcode != Opcodes.INVOKESTATIC) {
                visitInsn(Opcodes.POP);
            }
            switch (Type.getReturnType(descriptor).getSort()) {
                case Type.VOID -> {}
                case Type.BOOLEAN, Type.INT -> visitInsn(Opcodes.ICONST_0);
                case Type.LONG -> visitInsn(Opcodes.LCONST_0);
                default -> visitInsn(Opcodes.ACONST_NULL);
            }
        }
    }
}
