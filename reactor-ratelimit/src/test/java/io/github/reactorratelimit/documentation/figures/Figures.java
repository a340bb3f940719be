package io.github.reactorratelimit.documentation.figures;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The figures in a folder of {@code docs}: as they are drawn now. {@code -Dratelimit.docs.write=true} writes them. */
public final class Figures {

    private final Path folder;

    public Figures(String folder) {
        this.folder = Path.of(System.getProperty("basedir", ""))
                .toAbsolutePath()
                .resolveSibling("docs")
                .resolve(folder);
    }

    public void check(String name, String drawn) throws IOException {
        Path file = folder.resolve(name + ".svg");
        if (Boolean.getBoolean("ratelimit.docs.write")) {
            Files.createDirectories(folder);
            Files.writeString(file, drawn, UTF_8);
        }
        assertThat(file).content(UTF_8).isEqualTo(drawn);
    }
}
