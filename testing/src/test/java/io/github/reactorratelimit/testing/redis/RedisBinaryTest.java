package io.github.reactorratelimit.testing.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RedisBinaryTest {

    @TempDir
    Path directory;

    @Test
    void namedBinaryComesFirst() throws Exception {
        Path named = executable("my-redis");
        assertThat(RedisBinary.locate(named.toString(), "Linux", "amd64", "")).isEqualTo(named);
    }

    @Test
    void namedBinaryThatCannotRunIsRefused() {
        String missing = directory.resolve("missing").toString();
        assertThatThrownBy(() -> RedisBinary.locate(missing, "Linux", "amd64", ""))
                .hasMessage("-Dredis.server=" + missing + " is not an executable file");
    }

    @ParameterizedTest
    @CsvSource({"Linux,amd64", "Linux,aarch64", "Mac OS X,x86_64", "Mac OS X,aarch64"})
    void embeddedBinaryComesBeforeThePath(String os, String arch) throws Exception {
        executable("redis-server");
        assertThat(RedisBinary.locate(null, os, arch, directory.toString()))
                .isExecutable()
                .isNotEqualTo(directory.resolve("redis-server"));
    }

    @Test
    void pathIsSearchedWhereNoBinaryIsEmbedded() throws Exception {
        Path onPath = executable("redis-server");
        String searchPath = directory.resolve("elsewhere") + File.pathSeparator + directory;
        assertThat(RedisBinary.locate(null, "SunOS", "sparc", searchPath)).isEqualTo(onPath);
    }

    @Test
    void nothingFoundSaysWhatToSet() {
        assertThatThrownBy(() -> RedisBinary.locate(null, "SunOS", "sparc", directory.toString()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("SunOS on sparc")
                .hasMessageContaining("-Dredis.server=")
                .hasMessageContaining("REDIS_URI");
    }

    private Path executable(String name) throws Exception {
        Path file = Files.createFile(directory.resolve(name));
        assertThat(file.toFile().setExecutable(true)).isTrue();
        return file;
    }
}
