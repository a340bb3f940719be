package io.github.reactorratelimit.architecture;

import java.io.IOException;
import java.io.InputStream;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.matcher.ElementMatchers;
import net.bytebuddy.pool.TypePool;

/** Runs code in a class loader of its own and records which types of the library execute a method meanwhile. */
public final class MetTypes extends ClassLoader {

    private static final Set<String> MET = ConcurrentHashMap.newKeySet();
    private static volatile boolean recording;

    private final String scenario;
    private final ClassFileLocator files = ClassFileLocator.ForClassLoader.of(MetTypes.class.getClassLoader());
    private final TypePool types = TypePool.Default.of(files);

    private MetTypes(String scenario) {
        super(MetTypes.class.getClassLoader());
        this.scenario = scenario;
    }

    /** Called by the recorded classes. */
    public static void met(String type) {
        if (recording) {
            MET.add(type);
        }
    }

    /** Switches the recording on or off, for the scenario. */
    public static void record(boolean on) {
        recording = on;
    }

    /** The types that the scenario, a Runnable with a constructor without arguments, met while it recorded. */
    static Set<String> of(Class<? extends Runnable> scenario) throws ReflectiveOperationException {
        MET.clear();
        Class<?> isolated = new MetTypes(scenario.getName()).loadClass(scenario.getName());
        ((Runnable) isolated.getDeclaredConstructor().newInstance()).run();
        return new TreeSet<>(MET);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            boolean isScenario = name.equals(scenario) || name.startsWith(scenario + "$");
            if (!isScenario && !isOfLibrary(name)) {
                return super.loadClass(name, resolve);
            }
            try {
                byte[] bytes = isScenario ? bytesOf(name) : recorded(name);
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException unreadable) {
                throw new ClassNotFoundException(name, unreadable);
            }
        }
    }

    private static boolean isOfLibrary(String name) {
        return name.startsWith(MainClasses.BASE) && MainClasses.ALL.contain(name);
    }

    private byte[] bytesOf(String name) throws IOException {
        try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
            return in.readAllBytes();
        }
    }

    private byte[] recorded(String name) throws IOException {
        try (DynamicType.Unloaded<?> made = new ByteBuddy()
                .redefine(types.describe(name).resolve(), files)
                .visit(Advice.to(Entry.class)
                        .on(ElementMatchers.isMethod()
                                .or(ElementMatchers.isConstructor())
                                .and(ElementMatchers.not(ElementMatchers.isAbstract()))))
                .make()) {
            return made.getBytes();
        }
    }

    /** Inlined at the beginning of every method and constructor. */
    static final class Entry {

        private Entry() {}

        @Advice.OnMethodEnter
        static void enter(@Advice.Origin("#t") String type) {
            MetTypes.met(type);
        }
    }
}
