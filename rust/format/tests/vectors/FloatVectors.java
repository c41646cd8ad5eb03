/*
 * Prints floating-point numbers as Java up to 18 does: kind, bits in hexadecimal, text.
 *
 *   java FloatVectors.java > floats.tsv        with Java 17
 */
import java.util.*;
import java.util.function.*;

public class FloatVectors {
  static void show(double d) {
    System.out.println("d\t" + Long.toHexString(Double.doubleToRawLongBits(d)) + "\t" + d);
  }

  static void show(float f) {
    System.out.println("f\t" + Integer.toHexString(Float.floatToRawIntBits(f)) + "\t" + f);
  }

  public static void main(String[] args) {
    int count = args.length > 0 ? Integer.parseInt(args[0]) : 400;
    Random random = new Random(1);
    for (double d : new double[] {0.0, -0.0, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.MIN_VALUE,
        Double.MAX_VALUE, Double.MIN_NORMAL, 2e23, 8.41e21, 2.2e-322, 1e23, 0.001, 0.000999, 1e7, 9999999.999, 100, 1.1e16}) {
      show(d);
      show((float) d);
    }
    for (int i = -1074; i < 1024; i += 13) show(Math.scalb(1.0, i));
    for (int i = 0; i < count; i++) {
      show(Double.longBitsToDouble(random.nextLong()));
      show(Float.intBitsToFloat(random.nextInt()));
      show(Math.round(random.nextDouble() * 1e6) / Math.pow(10, random.nextInt(6)));
      show(random.nextGaussian() * Math.pow(10, random.nextInt(30) - 10));
      show((float) (random.nextGaussian() * Math.pow(10, random.nextInt(12) - 3)));
      show((double) random.nextLong());
      show(Double.longBitsToDouble(random.nextLong() >>> 12 + random.nextInt(40)));
    }
  }
}
