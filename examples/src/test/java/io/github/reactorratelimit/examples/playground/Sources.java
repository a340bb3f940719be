package io.github.reactorratelimit.examples.playground;

import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Code that a page shows to be copied, to be compiled as whoever copies it would. */
public final class Sources {

    private final List<JavaFileObject> sources = new ArrayList<>();

    /** Adds a file with one class, which gets a name of its own. */
    public void add(String className, String code) {
        String name = className + sources.size();
        sources.add(new SimpleJavaFileObject(URI.create("string:///" + name + ".java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                return code.replaceAll("\\b" + className + "\\b", name);
            }
        });
    }

    /** What the compiler has to say against them; empty if nothing. */
    public String complaints(Path output) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StringWriter complaints = new StringWriter();
        List<String> options =
                List.of("-proc:none", "-cp", System.getProperty("java.class.path"), "-d", output.toString());
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            boolean compiled = compiler.getTask(complaints, files, null, options, null, sources)
                    .call();
            return compiled ? "" : complaints.toString();
        }
    }
}
