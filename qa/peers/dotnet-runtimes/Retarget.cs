// Points the references of an assembly that mcs made at the assemblies that really have the types: a trimmed
// runtime has no facades. Usage: retarget.exe FROM TO FOLDER-OF-ASSEMBLIES
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Mono.Cecil;

static class Retarget
{
    static readonly Dictionary<string, AssemblyNameDefinition> homes = new Dictionary<string, AssemblyNameDefinition>();
    static ModuleDefinition module;

    static AssemblyNameReference Reference(AssemblyNameDefinition home)
    {
        AssemblyNameReference known = module.AssemblyReferences.FirstOrDefault(r => r.Name == home.Name);
        if (known == null)
        {
            known = new AssemblyNameReference(home.Name, home.Version) { PublicKeyToken = home.PublicKeyToken };
            module.AssemblyReferences.Add(known);
        }
        return known;
    }

    static bool Move(TypeReference type)
    {
        AssemblyNameDefinition home;
        if (type == null || type.DeclaringType != null) return true;
        if (!homes.TryGetValue(type.FullName, out home)) return false;
        type.Scope = Reference(home);
        return true;
    }

    static void Attributes(IEnumerable<CustomAttribute> attributes)
    {
        foreach (CustomAttribute a in attributes)
            foreach (CustomAttributeArgument x in a.ConstructorArguments.Concat(a.Properties.Select(p => p.Argument)).Concat(a.Fields.Select(f => f.Argument)))
                Move(x.Type);
    }

    static int Main(string[] args)
    {
        foreach (string file in Directory.GetFiles(args[2], "*.dll"))
        {
            try
            {
                AssemblyDefinition assembly = AssemblyDefinition.ReadAssembly(file);
                foreach (TypeDefinition type in assembly.MainModule.Types)
                    if (type.IsPublic && (assembly.Name.Name == "System.Private.CoreLib" || !homes.ContainsKey(type.FullName)))
                        homes[type.FullName] = assembly.Name;
            }
            catch (BadImageFormatException) { }
        }
        var resolver = new DefaultAssemblyResolver();
        resolver.AddSearchDirectory(args[2]);
        AssemblyDefinition program = AssemblyDefinition.ReadAssembly(args[0], new ReaderParameters { AssemblyResolver = resolver });
        module = program.MainModule;
        AssemblyNameReference[] old = module.AssemblyReferences.ToArray();
        int missing = 0;
        foreach (TypeReference type in module.GetTypeReferences().ToArray())
            if (!Move(type)) { Console.Error.WriteLine("no " + type.FullName); missing++; }
        foreach (TypeDefinition type in module.GetTypes())
        {
            Attributes(type.CustomAttributes);
            foreach (MethodDefinition method in type.Methods) Attributes(method.CustomAttributes);
            foreach (FieldDefinition field in type.Fields) Attributes(field.CustomAttributes);
            foreach (PropertyDefinition property in type.Properties) Attributes(property.CustomAttributes);
        }
        foreach (AssemblyNameReference reference in old)
            if (reference.Name == "mscorlib" || reference.Name == "System" || reference.Name == "System.Core") module.AssemblyReferences.Remove(reference);
        program.Write(args[1]);
        return missing == 0 ? 0 : 1;
    }
}
