/*
 * Asks the key generators of Apache Hudi about the rows of keys.tsv and prints that file anew, with their answers.
 *
 *   java -Duser.timezone=UTC -cp 'hudi-spark3.5-bundle_2.12-1.2.0.jar:<pyspark>/jars/*' KeyVectors.java keys.tsv
 *
 * The file, tab-separated; a backslash starts the escapes \t \n \\ and \N, the null:
 *   columns  name:type …          one Avro field each, all nullable
 *   row      value …              bytes in hexadecimal, logical types as their raw numbers
 *   ask      key=value …          properties of a table; the lines up to the next `ask` are the answers
 *   =        row  record key  partition path      `!` starts the class of an exception
 *
 * A TIMESTAMP generator keeps the zone of the last text it parsed. So each row gets a generator of its own.
 */
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;
import org.apache.avro.*;
import org.apache.avro.generic.*;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.keygen.*;

public class KeyVectors {
  static final Map<String, String> RENAMED = Map.of(
      "hoodie.table.recordkey.fields", "hoodie.datasource.write.recordkey.field",
      "hoodie.table.partition.fields", "hoodie.datasource.write.partitionpath.field",
      "hoodie.table.version", "hoodie.write.table.version");
  static final String TYPE = "hoodie.table.keygenerator.type";

  static Schema type(String name, String type) {
    Schema s = switch (type) {
      case "date" -> LogicalTypes.date().addToSchema(Schema.create(Schema.Type.INT));
      case "time-millis" -> LogicalTypes.timeMillis().addToSchema(Schema.create(Schema.Type.INT));
      case "time-micros" -> LogicalTypes.timeMicros().addToSchema(Schema.create(Schema.Type.LONG));
      case "timestamp-millis" -> LogicalTypes.timestampMillis().addToSchema(Schema.create(Schema.Type.LONG));
      case "timestamp-micros" -> LogicalTypes.timestampMicros().addToSchema(Schema.create(Schema.Type.LONG));
      case "local-timestamp-millis" -> LogicalTypes.localTimestampMillis().addToSchema(Schema.create(Schema.Type.LONG));
      case "local-timestamp-micros" -> LogicalTypes.localTimestampMicros().addToSchema(Schema.create(Schema.Type.LONG));
      case "decimal10.3" -> LogicalTypes.decimal(10, 3).addToSchema(Schema.createFixed("f" + name, null, null, 5));
      case "decimal20.8" -> LogicalTypes.decimal(20, 8).addToSchema(Schema.createFixed("f" + name, null, null, 9));
      case "fixed3" -> Schema.createFixed("f" + name, null, null, 3);
      case "list" -> Schema.createArray(Schema.createUnion(Schema.create(Schema.Type.NULL), Schema.create(Schema.Type.STRING)));
      default -> Schema.create(Schema.Type.valueOf(type.toUpperCase()));
    };
    return Schema.createUnion(Schema.create(Schema.Type.NULL), s);
  }

  static byte[] fit(BigInteger value, int size) {
    byte[] out = new byte[size];
    Arrays.fill(out, (byte) (value.signum() < 0 ? -1 : 0));
    byte[] raw = value.toByteArray();
    System.arraycopy(raw, 0, out, size - raw.length, raw.length);
    return out;
  }

  static Object value(Schema union, String type, String text) {
    if (text == null) return null;
    Schema s = union.getTypes().get(1);
    return switch (s.getType()) {
      case BOOLEAN -> Boolean.valueOf(text);
      case INT -> Integer.valueOf(text);
      case LONG -> Long.valueOf(text);
      case FLOAT -> Float.valueOf(text);
      case DOUBLE -> Double.valueOf(text);
      case STRING -> text;
      case BYTES -> ByteBuffer.wrap(HexFormat.of().parseHex(text));
      case FIXED -> new GenericData.Fixed(s, type.startsWith("decimal") ? fit(new BigInteger(text), s.getFixedSize()) : HexFormat.of().parseHex(text));
      case ARRAY -> List.of(text.split(";"));
      default -> throw new IllegalArgumentException(type);
    };
  }

  static String plain(String text) {
    if (text.equals("\\N")) return null;
    return text.replace("\\t", "\t").replace("\\n", "\n").replace("\\\\", "\\");
  }

  static String escaped(String text) {
    return text == null ? "\\N" : text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n");
  }

  interface Part { String of() throws Exception; }

  static String answer(Part part) {
    try {
      return escaped(part.of());
    } catch (Throwable t) {
      while (t instanceof java.lang.reflect.InvocationTargetException) t = t.getCause();
      return "!" + t.getClass().getSimpleName();
    }
  }

  static BaseKeyGenerator generator(TypedProperties p) throws Exception {
    String type = p.getString(TYPE);
    return switch (type) {
      case "SIMPLE" -> new SimpleAvroKeyGenerator(p);
      case "COMPLEX" -> new ComplexAvroKeyGenerator(p);
      case "NON_PARTITION" -> new NonpartitionedAvroKeyGenerator(p);
      case "GLOBAL_DELETE" -> new GlobalAvroDeleteKeyGenerator(p);
      case "TIMESTAMP" -> new TimestampBasedAvroKeyGenerator(p);
      case "CUSTOM" -> new CustomAvroKeyGenerator(p);
      default -> throw new IllegalArgumentException(type);
    };
  }

  public static void main(String[] args) throws Exception {
    List<String> names = new ArrayList<>(), types = new ArrayList<>();
    List<GenericRecord> rows = new ArrayList<>();
    Schema schema = null;
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      if (line.startsWith("=")) continue;
      System.out.println(line);
      String[] cells = line.split("\t", -1);
      switch (cells[0]) {
        case "columns" -> {
          List<Schema.Field> fields = new ArrayList<>();
          for (String cell : Arrays.copyOfRange(cells, 1, cells.length)) {
            String[] part = cell.split(":");
            names.add(part[0]);
            types.add(part[1]);
            fields.add(new Schema.Field(part[0], type(part[0], part[1]), null, JsonProperties.NULL_VALUE));
          }
          schema = Schema.createRecord("r", null, "hoodie.t", false, fields);
        }
        case "row" -> {
          GenericRecord row = new GenericData.Record(schema);
          for (int i = 0; i < names.size(); i++) {
            row.put(i, value(schema.getFields().get(i).schema(), types.get(i), plain(cells[i + 1])));
          }
          rows.add(row);
        }
        case "ask" -> {
          TypedProperties p = new TypedProperties();
          for (String cell : Arrays.copyOfRange(cells, 1, cells.length)) {
            int at = cell.indexOf('=');
            String key = cell.substring(0, at);
            p.setProperty(RENAMED.getOrDefault(key, key), plain(cell.substring(at + 1)));
          }
          for (int i = 0; i < rows.size(); i++) {
            GenericRecord row = rows.get(i);
            String key = answer(() -> generator(p).getRecordKey(row));
            String path = answer(() -> generator(p).getPartitionPath(row));
            System.out.println("=\t" + i + "\t" + key + "\t" + path);
          }
        }
        default -> { }
      }
    }
  }
}
